"""One run from its plan to its verdict: the phases in their order, on one machine."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from onceproof.job.handle import start_agent
from onceproof.machine.identity import Identity
from onceproof.phases.bodies import compared, observed, prepared, produced, released, validated
from onceproof.phases.judge import judge_run
from onceproof.phases.phase import await_agent, await_first_commit
from onceproof.phases.produce import Progress
from onceproof.phases.recomputing import recomputing
from onceproof.phases.validate import become_ready
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.verdict import Verdict

Say = Callable[[str], None]


def live_run(
    run: RunDirectory,
    home: Path | None = None,
    say: Say = lambda _: None,
    progress: Progress | None = None,
) -> Verdict:
    """Carry out a plan, judge it, and leave nothing behind.

    `say` is told what is being done, `progress` how many events are acknowledged, and of how many.
    A phase that fails, whatever it raises, ends the run, and its verdict says so: UNKNOWN. Ctrl-C
    ends it in the same way, and is raised again once all is released and judged.
    """
    plan = Plan.read(run.plan)
    run.logs.mkdir(exist_ok=True)
    try:
        with _failures_kept(run, say):
            _phases(run, plan, home, say, progress)
    finally:
        say("release")
        with _failures_kept(run, say):
            released(run, plan)
        say("judge")
        verdict = judge_run(run.root)
    return verdict


@contextmanager
def _failures_kept(run: RunDirectory, say: Say) -> Iterator[None]:
    """Keep what a phase raised: in the history as the phase's end, and here with its traceback."""
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
    prepared(run, plan, home)
    say("process")
    start_agent(run, Identity.of(os.getpid()))
    with recomputing(run, plan.limits.run_s) as result:
        become_ready(lambda: await_first_commit(run, plan.limits.run_s))
        say("produce")
        produced(run, plan, progress)
        say("process: the job reads on")
        await_agent(run, plan)
        say("observe and recompute")
        observed(run, plan)
        result()
        say("compare")
        compared(run, plan)
        say("validate")
        validated(run, plan)
