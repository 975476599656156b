"""From a judged run to its row in the verdict history."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from onceproof.digests import file_digest
from onceproof.documents import read_object
from onceproof.errors import EvidenceError
from onceproof.past.entry import Entry, Night, begun_entry, evidence_digest, make_entry
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import Plan
from onceproof.runs.records import Op
from onceproof.verdict import Grade

if TYPE_CHECKING:
    from onceproof.past.store import Store

HISTORY = "ONCEPROOF_HISTORY"


def history_of(runs: Path) -> str:
    """Return where the verdict history is: `ONCEPROOF_HISTORY`, else a file in the runs' folder."""
    return os.environ.get(HISTORY) or str(runs / "history.sqlite")


def entry_of(run: RunDirectory, at: datetime | None = None) -> Entry:
    """Return the entry of a judged run, or raise `EvidenceError` where it was not judged.

    It is of the time at which the run's job ended, and of now where nothing is known of an UNKNOWN
    run. The time of judging says nothing: one that was abandoned may be judged weeks later.
    """
    document = read_object(run.verdict)
    try:
        at = at or ended_at(run)
    except EvidenceError:
        if document["verdict"] != Grade.UNKNOWN:
            raise
        at = datetime.now(UTC)
    return make_entry(run, document, at, evidence_digest(run), file_digest(run.verdict))


def ended_at(run: RunDirectory) -> datetime:
    """Return when a run's job ended for the last time; when the run began, if no job of it did.

    Later records would make it younger than what it shows: the sink may be read, and what the run
    made may be released, at any time after.
    """
    records = History(run.history).read()
    ended = [record for record in records if record.op is Op.ATTEMPT_END]
    wall = (ended or records[:1])[-1].wall
    try:
        return datetime.fromtimestamp(wall, UTC)
    except (OverflowError, ValueError, OSError):
        raise EvidenceError(
            f"the history says {wall} for the run's end, which is no time: it was damaged, so run"
            " the scenario again"
        ) from None


def begin_run(run: RunDirectory, runs: Path) -> None:
    """Record that a run was planned, before anything of it is started.

    So a run leaves a row whatever ends it: killed, with all that it has started, it is UNKNOWN.
    """
    from onceproof.past.store import open_store

    entry = begun_entry(run, Plan.read(run.plan), datetime.now(UTC))
    open_store(history_of(runs)).begin(entry)


def record_night(night: Night, runs: Path) -> None:
    """Record what a night is asked for, before its first run."""
    from onceproof.past.store import open_store

    open_store(history_of(runs)).record_night(night)


def record(store: Store, run: RunDirectory) -> Entry:
    """Record a judged run and return its row.

    One that is known already gets its new verdict and keeps its time, if its evidence is the same.
    If it was altered, nothing changes: judging it again makes nothing good.
    """
    return store.record(entry_of(run))


def record_run(run: RunDirectory, runs: Path) -> Entry:
    """Record a judged run in the history of a folder of runs; the last step, after the release.

    Whatever is written into the run's evidence after this, a repeated release too, alters it.
    """
    from onceproof.past.store import open_store

    return record(open_store(history_of(runs)), run)


def find_store(runs: Path) -> Store | None:
    """Return the history of a folder of runs; None where no run was ever recorded in its file."""
    from onceproof.past.store import open_store

    address = history_of(runs)
    return open_store(address) if "://" in address or Path(address).exists() else None


def judged_again(run: RunDirectory, runs: Path) -> Entry | None:
    """Give a run that the history knows its new verdict; of others, it learns nothing.

    Nor does it of a run that was begun and is not released: its evidence is still being written.
    """
    if (store := find_store(runs)) is None:
        return None
    entry = entry_of(run)
    known = store.find(entry.run)
    is_over = known is not None and (known.is_judged or run.released.exists())
    return store.record(entry) if is_over else None
