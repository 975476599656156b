"""Waiting for the agent of a run, or for a phase of it, whoever started them."""

from __future__ import annotations

from onceproof.checkpoint.log import newest
from onceproof.errors import StackError
from onceproof.job.handle import find_agent
from onceproof.machine.polling import wait_for
from onceproof.phases.phase import PhaseEnd
from onceproof.run.directory import RunDirectory
from onceproof.run.plan import Plan
from onceproof.run.records import Record

_BEYOND_S = 120.0


def await_first_commit(run: RunDirectory, limit_s: float) -> bool:
    """Return True when the job has committed a batch; False where its agent has ended."""

    def look() -> tuple[bool] | None:
        agent = find_agent(run)
        if agent is None or not agent.is_alive:
            return (False,)
        return (True,) if newest(run.checkpoint_log)[1] >= 0 else None

    (is_live,) = wait_for(look, limit_s, "the job has committed no batch")
    return is_live


def await_agent(run: RunDirectory, plan: Plan) -> None:
    """Return when the agent has done its work, or raise `StackError` with what went wrong in it."""
    agent, ended = find_agent(run), PhaseEnd(run, "process")

    def is_over() -> bool:
        return ended.look() is not None or agent is None or not agent.is_alive

    wait_for(is_over, plan.limits.run_s + _BEYOND_S, "the agent does not end")
    if (end := ended.look()) is None:
        raise StackError(f"the agent died; see {run.logs / 'agent.log'}")
    refuse_failed(end)


def await_phase(run: RunDirectory, name: str, limit_s: float) -> None:
    """Return when a phase has ended well, or raise `StackError` with what went wrong in it."""
    refuse_failed(wait_for(PhaseEnd(run, name).look, limit_s, f"{name} has not ended"))


def refuse_failed(end: Record) -> None:
    """Raise `StackError` where a phase has failed, with what it said."""
    if not end.is_ok:
        raise StackError(f"{end.actor}: {end.proof.get('reason', 'it failed')}")
