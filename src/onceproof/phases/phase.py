"""A phase of a run, with its beginning and its end in the history."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from onceproof.errors import OnceproofError
from onceproof.run.directory import RunDirectory
from onceproof.run.history import History
from onceproof.run.parts import used_by
from onceproof.run.records import Op, Outcome, Record


@contextmanager
def phase(run: RunDirectory, name: str) -> Iterator[History]:
    """Record that a phase began, and how it ended; what it raised goes on.

    One that ended well records the digests of what it read and wrote.
    A phase is carried out by one process at a time: who comes second waits, and repeats it.
    """
    run.locks.mkdir(exist_ok=True)
    with (run.locks / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        history = History(run.history)
        history.append(name, Op.PHASE_START)
        try:
            yield history
        except BaseException as error:
            kind = "" if isinstance(error, OnceproofError) else f"{type(error).__name__}: "
            said = kind + " ".join(str(error).split())
            history.append(name, Op.PHASE_END, Outcome.FAILED, proof={"reason": said[:2000]})
            raise
        history.append(name, Op.PHASE_END, proof=used_by(run, name))


def end_of(run: RunDirectory, name: str) -> Record | None:
    """Return how a phase ended; None if it has not, or was begun anew."""
    records = [
        record
        for record in History(run.history).so_far()
        if record.actor == name and record.op in (Op.PHASE_START, Op.PHASE_END)
    ]
    return records[-1] if records and records[-1].op is Op.PHASE_END else None
