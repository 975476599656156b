"""The recording of runs in the verdict history."""

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
    """Return the address of the verdict history: `ONCEPROOF_HISTORY`, or a file among the runs."""
    return os.environ.get(HISTORY) or str(runs / "history.sqlite")


def entry_of(run: RunDirectory, at: datetime | None = None) -> Entry:
    """Return the entry of a judged run, or raise `EvidenceError` if it was not judged.

    Its time is the end of the run's job, or now if that is unknown and the run is UNKNOWN. The time
    of judging is not used: an abandoned run may be judged weeks later.
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
    """Return the last end of a run's job, or the beginning of the run if no job ended.

    Later records are not used: the sink may be read, and the run's resources may be released, at
    any later time.
    """
    records = History(run.history).read()
    ended = [record for record in records if record.op is Op.ATTEMPT_END]
    wall = (ended or records[:1])[-1].wall
    try:
        return datetime.fromtimestamp(wall, UTC)
    except (OverflowError, ValueError, OSError):
        raise EvidenceError(
            f"invalid time {wall} of the run's end in the history; run the scenario again"
        ) from None


def begin_run(run: RunDirectory, runs: Path) -> None:
    """Record that a run was planned, before anything of it is started.

    So every run has a row: one that is killed with all its processes is UNKNOWN.
    """
    from onceproof.past.store import open_store

    entry = begun_entry(run, Plan.read(run.plan), datetime.now(UTC))
    open_store(history_of(runs)).begin(entry)


def record_night(night: Night, runs: Path) -> None:
    """Record the scenarios and seeds of a night, before its first run."""
    from onceproof.past.store import open_store

    open_store(history_of(runs)).record_night(night)


def record(store: Store, run: RunDirectory) -> Entry:
    """Record a judged run and return its row.

    A recorded run gets its new verdict and keeps its time, if its evidence is unchanged. If the
    evidence was altered, the row does not change.
    """
    return store.record(entry_of(run))


def record_run(run: RunDirectory, runs: Path) -> Entry:
    """Record a judged run in the history of a folder of runs; the last step, after the release.

    Anything written into the run's evidence afterwards, also by a repeated release, alters it.
    """
    from onceproof.past.store import open_store

    return record(open_store(history_of(runs)), run)


def find_store(runs: Path) -> Store | None:
    """Return the history of a folder of runs; None if its file does not exist."""
    from onceproof.past.store import open_store

    address = history_of(runs)
    return open_store(address) if "://" in address or Path(address).exists() else None


def update_verdict(run: RunDirectory, runs: Path) -> Entry | None:
    """Update the verdict of a run that is in the history; do nothing for other runs.

    Nothing is done either for a run that is not released: its evidence is still being written.
    """
    if (store := find_store(runs)) is None:
        return None
    entry = entry_of(run)
    row = store.find(entry.run)
    is_over = row is not None and (row.is_judged or run.released.exists())
    return store.record(entry) if is_over else None
