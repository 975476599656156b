"""One run from its plan to its verdict: the phases in their order, on one machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from onceproof.errors import OnceproofError, StackError
from onceproof.history import History
from onceproof.home import onceproof_home
from onceproof.identity import Identity
from onceproof.phases.compare import compare_run
from onceproof.phases.judge import judge_run
from onceproof.phases.observe import observe
from onceproof.phases.phase import phase
from onceproof.phases.prepare import prepare
from onceproof.phases.produce import produce
from onceproof.phases.recompute import recompute
from onceproof.phases.release import release
from onceproof.polling import wait_for
from onceproof.process.handle import find_agent, start_agent
from onceproof.records import Op
from onceproof.run import RunDirectory
from onceproof.stacks.keeper import keep
from onceproof.stacks.local import LocalStack
from onceproof.stacks.spark_setup import spark_tools
from onceproof.targets import open_sink
from onceproof.topics import look
from onceproof.verdict import Verdict
from onceproof.work import Work

Say = Callable[[str], None]
_BEYOND_S = 120.0


def live_run(run: RunDirectory, home: Path | None = None, say: Say = lambda _: None) -> Verdict:
    """Carry out a plan, judge it, and leave nothing behind; what fails on the way is UNKNOWN.

    Ctrl-C ends the run in the same way, and goes on once all is released and judged.
    """
    work = Work.read(run.plan)
    try:
        _phases(run, work, home, say)
    except OnceproofError as error:
        say(str(error))
    finally:
        say("release")
        with phase(run, "release"):
            release(run, work)
        say("judge")
        verdict = judge_run(run.root)
    return verdict


def _phases(run: RunDirectory, work: Work, home: Path | None, say: Say) -> None:
    say("prepare")
    with phase(run, "prepare"):
        prepared = prepare(run, work, home)
        if prepared.own:
            keep(LocalStack(Path(prepared.stack)).state)
    bootstrap = prepared.bootstrap.split(",")
    say("process")
    agent = start_agent(run, Identity.of(os.getpid()))
    say("produce")
    with phase(run, "produce"):
        produce(run, work, bootstrap, is_over=lambda: not agent.is_alive)
    say("process: the job reads on")
    await_agent(run, work)
    say("observe")
    with phase(run, "observe"):
        observe(run, open_sink(work, prepared.address))
        found = {"topics": look(bootstrap, [work.workload.topic])}
        History(run.history).append("observe", Op.INPUT_TOPICS, proof=found)
    say("recompute")
    with phase(run, "recompute"):
        recompute(run, work, spark_tools(onceproof_home()), run.root / "spark-local")
    say("compare")
    with phase(run, "compare"):
        compare_run(run, work)


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
