"""A whole run from its plan to its verdict: the phases in order, on one machine."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from onceproof.job.handle import start_agent
from onceproof.machine.identity import Identity
from onceproof.phases.all_phases import (
    run_compare,
    run_observe,
    run_prepare,
    run_produce,
    run_release,
    run_validate,
)
from onceproof.phases.judge import judge_run
from onceproof.phases.phase import await_agent, await_first_commit
from onceproof.phases.produce import Progress
from onceproof.phases.recomputing import recomputing
from onceproof.phases.validate import preload
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.verdict import Verdict

Say = Callable[[str], None]


def execute_run(
    run: RunDirectory,
    home: Path | None = None,
    say: Say = lambda _: None,
    progress: Progress | None = None,
) -> Verdict:
    """Carry out a plan, release its resources, and judge it.

    `say` is called with the name of each phase, `progress` with the numbers of acknowledged and of
    all events. A phase that raises ends the run, and the verdict is UNKNOWN. Ctrl-C ends it in the
    same way, and is raised again after release and judgement.
    """
    plan = Plan.read(run.plan)
    run.logs.mkdir(exist_ok=True)
    try:
        with _log_failure(run, say):
            _phases(run, plan, home, say, progress)
    finally:
        say("release")
        with _log_failure(run, say):
            run_release(run, plan)
        say("judge")
        verdict = judge_run(run.root)
    return verdict


@contextmanager
def _log_failure(run: RunDirectory, say: Say) -> Iterator[None]:
    """Log a phase's exception to logs/phases.log; its end record already has the message."""
    try:
        yield
    except Exception as error:
        say(f"{type(error).__name__}: {error}")
        with (run.logs / "phases.log").open("a", encoding="utf-8") as file:
            traceback.print_exc(file=file)


def _phases(
    run: RunDirectory, plan: Plan, home: Path | None, say: Say, progress: Progress | None
) -> None:
    say("prepare")
    run_prepare(run, plan, home)
    say("process")
    start_agent(run, Identity.of(os.getpid()))
    with recomputing(run, plan.limits.run_s) as result:
        preload(lambda: await_first_commit(run, plan.limits.run_s))
        say("produce")
        run_produce(run, plan, progress)
        say("process: wait for the job")
        await_agent(run, plan)
        say("observe and recompute")
        run_observe(run, plan)
        result()
        say("compare")
        run_compare(run, plan)
        say("validate")
        run_validate(run, plan)
