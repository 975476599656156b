"""A phase of a run, with its beginning and its end in the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onceproof.errors import OnceproofError
from onceproof.history import History
from onceproof.records import Op, Outcome
from onceproof.run import RunDirectory


@contextmanager
def phase(run: RunDirectory, name: str) -> Iterator[History]:
    """Record that a phase began, and how it ended; what it raised goes on."""
    history = History(run.history)
    history.append(name, Op.PHASE_START)
    try:
        yield history
    except BaseException as error:
        kind = "" if isinstance(error, OnceproofError) else f"{type(error).__name__}: "
        said = kind + " ".join(str(error).split())
        history.append(name, Op.PHASE_END, Outcome.FAILED, proof={"reason": said[:2000]})
        raise
    history.append(name, Op.PHASE_END)
