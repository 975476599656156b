"""What each phase of a run does, with its beginning and end in the history: for every caller alike.

The command line carries them out one after another in one process, an orchestrator each as a task.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onceproof.job.handle import find_agent
from onceproof.job.targets import open_sink
from onceproof.kafka.security import Brokers
from onceproof.machine.home import onceproof_home
from onceproof.phases.calm import run_calm
from onceproof.phases.compare import compare_run
from onceproof.phases.observe import observe
from onceproof.phases.phase import await_agent, await_first_commit, await_phase, is_running, phase
from onceproof.phases.prepare import look_at_input, prepare
from onceproof.phases.produce import Progress, produce
from onceproof.phases.recompute import recompute_in
from onceproof.phases.release import release
from onceproof.phases.validate import become_ready, validate_run
from onceproof.phases.warm_up import warm_up
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.spark.session import spark_session
from onceproof.stacks.local.keeper import keep
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.programs import spark_tools

MASTER = "local[2]"


def prepared(run: RunDirectory, plan: Plan, home: Path | None = None) -> Prepared:
    """Carry out `prepare`, and the calm run where what that leaves is the expectation.

    A stack of this run alone is taken down if this process dies. An orchestrator's task ends long
    before its run: there `release` takes the stack down, or the next night does.
    """
    with phase(run, "prepare"):
        found = prepare(run, plan, home)
        if found.own and not plan.orchestrator:
            keep(LocalStack(Path(found.stack)).state)
        run_calm(run, plan, Path(found.stack))
        return found


def produced(run: RunDirectory, plan: Plan, progress: Progress | None = None) -> None:
    """Carry out `produce`; where the agent has ended, it gives up."""

    def is_over() -> bool:
        agent = find_agent(run)
        return agent is not None and not agent.is_alive

    with phase(run, "produce"):
        produce(run, plan, _brokers(run), is_over=is_over, progress=progress)


def observed(run: RunDirectory, plan: Plan) -> None:
    """Carry out `observe`."""
    with phase(run, "observe"):
        observe(run, open_sink(run, plan, Prepared.read(run.prepared).address))
        look_at_input(run, plan, _brokers(run), "observe")


def recomputed(run: RunDirectory, plan: Plan) -> None:
    """Carry out `recompute`, on a Spark that is warm before the job has ended.

    It starts when the job has committed a batch: the two cores of a small machine are the job's
    while that starts itself. All of the input and of the log is there before anything counts.
    """
    await_first_commit(run, plan.limits.run_s)
    with spark_session(spark_tools(onceproof_home()), MASTER, run.spark_recompute) as spark:
        if is_running(run):  # else there is no time left that it could save
            warm_up(spark, run, plan, run.spark_recompute / "trial")
        await_agent(run, plan)
        await_phase(run, "produce", plan.limits.run_s)
        with phase(run, "recompute"):
            recompute_in(spark, run, plan)


def compared(run: RunDirectory, plan: Plan) -> None:
    """Carry out `compare`."""
    with phase(run, "compare"):
        compare_run(run, plan)


def validated(run: RunDirectory, plan: Plan) -> None:
    """Carry out `validate`, when the rows were compared; its library is imported meanwhile."""
    become_ready()
    await_phase(run, "compare", plan.limits.run_s)
    with phase(run, "validate"):
        validate_run(run, plan)


def released(run: RunDirectory, plan: Plan) -> None:
    """Carry out `release`."""
    with phase(run, "release"):
        release(run, plan)


def _brokers(run: RunDirectory) -> Brokers:
    return Prepared.read(run.prepared).brokers


BODIES: dict[str, Callable[[RunDirectory, Plan], object]] = {
    "prepare": prepared,
    "produce": produced,
    "observe": observed,
    "recompute": recomputed,
    "compare": compared,
    "validate": validated,
    "release": released,
}
