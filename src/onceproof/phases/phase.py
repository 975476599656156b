"""A phase of a run: its start and end records in the history, and waiting for its end."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from onceproof.checkpoint.log import newest
from onceproof.errors import OnceproofError, StackError
from onceproof.job.handle import find_agent
from onceproof.machine.polling import wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.flows import by_query
from onceproof.runs.history import History, HistoryReader
from onceproof.runs.parts import used_by
from onceproof.runs.plan import Plan
from onceproof.runs.records import Op, Outcome, Record

_BEYOND_S = 120.0


@contextmanager
def phase(run: RunDirectory, name: str) -> Iterator[History]:
    """Record the start and the end of a phase; an exception is recorded and raised again.

    The end of a successful phase has the digests of its input and output. A phase is carried out by
    one process at a time; a second process waits, and then repeats it.
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
            reason = kind + " ".join(str(error).split())
            history.append(name, Op.PHASE_END, Outcome.FAILED, proof={"reason": reason[:2000]})
            raise
        history.append(name, Op.PHASE_END, proof=used_by(run, name))


class PhaseEnd:
    """The end of a phase, for waiting: each look reads only new records."""

    def __init__(self, run: RunDirectory, name: str) -> None:
        self._name, self._history = name, HistoryReader(run.history)
        self._newest: Record | None = None

    def look(self) -> Record | None:
        """Return the phase's end record; None if it has not ended, or was started again."""
        for record in self._history.read_new():
            if record.actor == self._name and record.op in (Op.PHASE_START, Op.PHASE_END):
                self._newest = record if record.op is Op.PHASE_END else None
        return self._newest


def end_of(run: RunDirectory, name: str) -> Record | None:
    """Return a phase's end record; None if it has not ended, or was started again."""
    return PhaseEnd(run, name).look()


def is_running(run: RunDirectory) -> bool:
    """Whether the agent of a run lives."""
    agent = find_agent(run)
    return agent is not None and agent.is_alive


def await_first_commit(run: RunDirectory, limit_s: float) -> None:
    """Wait until each query of the job has committed a batch, or its agent has ended."""
    logs = [flow.run.checkpoint_log for flow in by_query(run, Plan.read(run.plan)).values()]

    def look() -> bool:
        return all(newest(log)[1] >= 0 for log in logs) or not is_running(run)

    wait_for(look, limit_s, "the job has committed no batch")


def await_agent(run: RunDirectory, plan: Plan) -> None:
    """Wait until the agent has ended, and raise `StackError` with its reason if it failed."""
    ended = PhaseEnd(run, "process")

    def is_over() -> bool:
        return ended.look() is not None or not is_running(run)

    wait_for(is_over, plan.limits.run_s + _BEYOND_S, "the agent does not end")
    if (end := ended.look()) is None:
        raise StackError(f"the agent ended early; see {run.logs / 'agent.log'}")
    refuse_failed(end)


def await_phase(run: RunDirectory, name: str, limit_s: float) -> None:
    """Wait until a phase has ended, and raise `StackError` with its reason if it failed."""
    refuse_failed(wait_for(PhaseEnd(run, name).look, limit_s, f"{name} has not ended"))


def refuse_failed(end: Record) -> None:
    """Raise `StackError` with the recorded reason if a phase failed."""
    if not end.is_ok:
        raise StackError(f"{end.actor}: {end.proof.get('reason', 'it failed')}")
