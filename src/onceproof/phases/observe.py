"""The phase that reads the output of a run, as readers of the sink do, until it is stable."""

from __future__ import annotations

import os
import shutil

from onceproof.digests import files_digest
from onceproof.errors import OnceproofError
from onceproof.machine.polling import wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.ledger import content_digest
from onceproof.runs.parts import files_of
from onceproof.runs.records import Op, Outcome
from onceproof.sinks import NamesOpen, ReadsAll, Sink

MOST_READS = 5
_LIMIT_S = 600.0
_BETWEEN_S = 0.5
_MOST_NAMES = 200
_ACTOR = "observe"


def observe(run: RunDirectory, sink: Sink, *, all_columns: bool = False) -> bool:
    """Read the sink until two reads in a row agree; return whether they did.

    The last read is written to `observed/`, and each is recorded, so that the judge can see reads
    that never agree. With `all_columns`, the rows with all of their columns are read just before
    each of these reads, so the last time between two that agree.

    Call it when no attempt lives and the sink was recovered. May be repeated; then `compare` must
    be repeated too.
    """
    history = History(run.history, run.about_output)
    opened, hidden = sink.open()
    names = sink.open_names() if opened and isinstance(sink, NamesOpen) else []
    listed = {"names": names[:_MOST_NAMES]} if names else {}
    history.append(_ACTOR, Op.SINK_OPEN, proof={"open": opened, "hidden": hidden, **listed})
    found: list[tuple[int, str, str]] = []
    digests: dict[str, str] = {}

    def is_over() -> bool:
        try:
            if all_columns:
                _read_all(run, sink)
            found.append(_read(run, sink, digests))
        except OnceproofError as error:
            history.append(_ACTOR, Op.READ, Outcome.FAILED, proof={"why": str(error)[:1000]})
            raise
        rows, digest, _ = found[-1]
        history.append(_ACTOR, Op.READ, proof={"rows": rows, "digest": digest})
        return _is_stable(found) or len(found) == MOST_READS

    wait_for(is_over, _LIMIT_S, "the sink was not read in time", every_s=_BETWEEN_S)
    return _is_stable(found)


def _is_stable(found: list[tuple[int, str, str]]) -> bool:
    return len(found) > 1 and found[-1] == found[-2]


def _read_all(run: RunDirectory, sink: Sink) -> None:
    part = run.all_columns.with_name("all-columns.part")
    shutil.rmtree(part, ignore_errors=True)
    if isinstance(sink, ReadsAll):
        sink.read_all(part)
    else:
        sink.read(part)
    shutil.rmtree(run.all_columns, ignore_errors=True)
    os.replace(part, run.all_columns)


def _read(run: RunDirectory, sink: Sink, digests: dict[str, str]) -> tuple[int, str, str]:
    """Return the number of rows, their digest as made by the judge, and the digest by the sink.

    `digests` caches the digest of rows by that of the files: equal bytes are equal rows.
    """
    part = run.observed.with_name("observed.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(part, ignore_errors=True)
    rows, of_sink = sink.read(part)
    files = files_digest(files_of((part,)), part)
    digest = digests[files] if files in digests else content_digest(part)
    digests[files] = digest
    shutil.rmtree(run.observed, ignore_errors=True)
    os.replace(part, run.observed)
    return rows, digest, of_sink
