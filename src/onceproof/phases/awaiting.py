"""Waiting for the agent of a run, whoever started it."""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.history import History
from onceproof.polling import wait_for
from onceproof.process.handle import find_agent
from onceproof.records import Op
from onceproof.run import RunDirectory
from onceproof.work import Work

_BEYOND_S = 120.0


def await_agent(run: RunDirectory, work: Work) -> None:
    """Return when the agent has ended, or raise `StackError` with what went wrong in it."""
    agent = find_agent(run)
    limit_s = work.limits.run_s + _BEYOND_S
    wait_for(lambda: agent is None or not agent.is_alive, limit_s, "the agent does not end")
    ends = [
        record
        for record in History(run.history).read()
        if record.op is Op.PHASE_END and record.actor == "process"
    ]
    if not ends:
        raise StackError(f"the agent died; see {run.logs / 'agent.log'}")
    if not ends[-1].is_ok:
        raise StackError(f"process: {ends[-1].proof.get('reason', 'it failed')}")
