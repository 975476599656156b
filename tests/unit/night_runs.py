"""Runs in a folder with their verdict history, made by hand, for the page of nights."""

from datetime import UTC, datetime

from onceproof.past.record import entry_of, history_of
from onceproof.past.store import open_store
from onceproof.phases.judge import judge_run
from onceproof.runs.directory import RunDirectory
from tests.unit.handwritten_run import HandwrittenRun
from tests.unit.ran_on_records import with_ran_on


def judged(made: HandwrittenRun, runs, name, **plan):
    """Write a run below the runs folder as its plan says, and judge it."""
    made.plan |= {"run": name, "subject": "git:9f2c41d"} | plan
    run = RunDirectory(runs / made.plan["scenario"] / name)
    clocks, last = made.clocks, len(made.history)
    if clocks:
        made.clocks = lambda seq: clocks(min(seq, last))
    made.history = with_ran_on(made.history, run.root)
    made.write(run.root)
    judge_run(run.root)
    return run


def recorded(made: HandwrittenRun, runs, name, at=None, **plan):
    """Do the same, and record it in the verdict history as judged at this time, or now."""
    run = judged(made, runs, name, **plan)
    return open_store(history_of(runs)).record(entry_of(run, at or datetime.now(UTC)))


def lossy():
    """A run that lost a row and promised not to."""
    made = HandwrittenRun()
    made.lose_a_row()
    return made
