"""The phases of a run with their start and end records, the same for every caller.

The command line runs them one after another in one process, an orchestrator runs each as a task.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onceproof.job.handle import find_agent
from onceproof.job.targets import open_sinks
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
from onceproof.phases.validate import preload, validate_run
from onceproof.phases.warm_up import warm_up
from onceproof.runs.directory import RunDirectory
from onceproof.runs.flows import flows_of
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.runs.suites import OUTPUT
from onceproof.spark.session import spark_session
from onceproof.stacks.local.keeper import keep
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.programs import spark_tools

MASTER = "local[2]"


def run_prepare(run: RunDirectory, plan: Plan, home: Path | None = None) -> Prepared:
    """Carry out `prepare`, and the calm run if its output is the reference.

    A stack of this run alone is taken down if this process dies. With an orchestrator, whose tasks
    end long before the run, `release` takes the stack down, or the next night does.
    """
    with phase(run, "prepare"):
        found = prepare(run, plan, home)
        if found.own and not plan.orchestrator:
            keep(LocalStack(Path(found.stack)).state)
        run_calm(run, plan, Path(found.stack))
        return found


def run_produce(run: RunDirectory, plan: Plan, progress: Progress | None = None) -> None:
    """Carry out `produce`; stop waiting when the agent has ended."""

    def is_over() -> bool:
        agent = find_agent(run)
        return agent is not None and not agent.is_alive

    with phase(run, "produce"):
        produce(run, plan, _brokers(run), is_over=is_over, progress=progress)


def run_observe(run: RunDirectory, plan: Plan) -> None:
    """Carry out `observe`."""
    with phase(run, "observe"):
        all_columns = OUTPUT in plan.expectations
        for flow, sink in open_sinks(run, plan, Prepared.read(run.prepared)):
            observe(flow.run, sink, all_columns=all_columns)
        look_at_input(run, plan, _brokers(run), "observe")


def run_recompute(run: RunDirectory, plan: Plan) -> None:
    """Carry out `recompute`, on a Spark that is warmed up while the job runs.

    Spark starts after the job's first commit, so that it does not slow the start of the job on a
    small machine. The phase itself starts when the agent and `produce` have ended.
    """
    await_first_commit(run, plan.limits.run_s)
    with spark_session(spark_tools(onceproof_home()), MASTER, run.spark_recompute) as spark:
        if is_running(run):  # otherwise a warm-up would save no time
            first, *_ = flows_of(run, plan)
            warm_up(spark, first.run, first.plan, run.spark_recompute / "trial")
        await_agent(run, plan)
        await_phase(run, "produce", plan.limits.run_s)
        with phase(run, "recompute"):
            for flow in flows_of(run, plan):
                recompute_in(spark, flow.run, flow.plan)


def run_compare(run: RunDirectory, plan: Plan) -> None:
    """Carry out `compare`."""
    with phase(run, "compare"):
        for flow in flows_of(run, plan):
            compare_run(flow.run, flow.plan)


def run_validate(run: RunDirectory, plan: Plan) -> None:
    """Carry out `validate` after `compare`; its library is imported meanwhile."""
    preload()
    await_phase(run, "compare", plan.limits.run_s)
    with phase(run, "validate"):
        for flow in flows_of(run, plan):
            validate_run(flow.run, flow.plan)


def run_release(run: RunDirectory, plan: Plan) -> None:
    """Carry out `release`."""
    with phase(run, "release"):
        release(run, plan)


def _brokers(run: RunDirectory) -> Brokers:
    return Prepared.read(run.prepared).brokers


PHASES: dict[str, Callable[[RunDirectory, Plan], object]] = {
    "prepare": run_prepare,
    "produce": run_produce,
    "observe": run_observe,
    "recompute": run_recompute,
    "compare": run_compare,
    "validate": run_validate,
    "release": run_release,
}
