"""`onceproof run`, `replay` and `release`: from a scenario to its verdict, and what is left."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onceproof.cli.live_shown import one_interrupt, shown
from onceproof.cli.output import AsJson, Runs, print_document
from onceproof.cli.recording import recorded
from onceproof.errors import EvidenceError, RequestError
from onceproof.judge.report import read_document
from onceproof.judge.report.text import print_verdict
from onceproof.machine.home import runs_folder
from onceproof.run.directory import RunDirectory

if TYPE_CHECKING:
    from onceproof.run.plan import FaultPart, Plan

Home = Annotated[
    Path | None,
    typer.Option("--home", help="Its folder (default: as `onceproof up`), or external:FILE."),
]
Open = Annotated[
    bool, typer.Option("--open", help="Let others read the run (default: its owner only).")
]
Subject = Annotated[
    str, typer.Option(help="The version under test (default: the commit of the command's folder).")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(run)
    app.command()(replay)
    app.command()(release)
    app.command()(phase)


def run(
    scenario: Annotated[str, typer.Argument(help="A scenario's name, or a file that holds one.")],
    seed: Annotated[int, typer.Option(min=0, help="What all that is random is drawn from.")] = 0,
    random: Annotated[
        int, typer.Option(min=0, help="Draw so many faults from the seed, in place of its own.")
    ] = 0,
    runs: Runs = None,
    home: Home = None,
    subject: Subject = "",
    is_open: Open = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario: exit 0 as claimed, 1 not as claimed, 2 unknown, 3 a wrong request.

    A stack that stands is used; else one is started for this run, and taken down after it.
    """
    from onceproof.phases.libraries import libraries_of
    from onceproof.phases.plan import make_plan
    from onceproof.phases.subject import refuse_absent
    from onceproof.run.needed_variables import refuse_unset
    from onceproof.scenario.catalogue import find_scenario
    from onceproof.scenario.random_faults import with_random_faults
    from onceproof.setup.libraries import refuse_missing

    folder, asked = runs_folder(runs), find_scenario(scenario)
    if random:
        asked = with_random_faults(asked, seed, random)
    refuse_absent(asked.job, asked.folder)
    refuse_unset(asked)
    refuse_missing(libraries_of(asked))
    _refuse_unable(home, asked.faults)
    found = make_plan(asked, seed, folder, subject=subject, is_open=is_open)
    _live(found, folder, home, as_json=as_json)


def replay(
    run: Annotated[Path, typer.Argument(help="A run's directory.")],
    runs: Runs = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Run the plan of a stored run once more, as a run of its own."""
    from onceproof.phases.again import plan_again
    from onceproof.phases.libraries import libraries_of
    from onceproof.run.needed_variables import refuse_unset
    from onceproof.setup.libraries import refuse_missing

    folder, found = runs_folder(runs), _run_in(run)
    plan = _work_of(found)
    refuse_unset(plan)
    refuse_missing(libraries_of(plan))
    _refuse_unable(home, plan.faults)
    _live(plan_again(found, folder), folder, home, as_json=as_json)


def _run_in(folder: Path) -> RunDirectory:
    found = RunDirectory(folder)
    if not found.plan.exists():
        raise RequestError(
            f"{folder} is no run's directory: there is no plan.json in it; name one that"
            " `onceproof history` lists"
        )
    return found


def _work_of(run: RunDirectory) -> Plan:
    """Return what a run's plan says; a plan that is damaged is a wrong request."""
    from onceproof.run.plan import Plan

    try:
        return Plan.read(run.plan)
    except EvidenceError as error:
        raise RequestError(f"{run.root}: {error}; name the directory of another run") from None


def _refuse_unable(home: Path | None, faults: Iterable[FaultPart]) -> None:
    """Refuse a stack that is not there, or cannot do a fault, before there is a run."""
    from onceproof.faults.abilities import refuse_unable
    from onceproof.stacks.local.stack import default_folder
    from onceproof.stacks.opening import find_stack, open_stack

    stack = open_stack(str(home)) if home else find_stack(str(default_folder()))
    if stack is not None:
        refuse_unable(stack, faults)


def release(
    run: Annotated[Path, typer.Argument(help="The directory of a run that was cut off.")],
) -> None:
    """End what a run left: its processes, its topic, its table, and the stack that was its own."""
    phase("release", run)


def phase(
    name: Annotated[str, typer.Argument(help="prepare, produce, observe, recompute ...")],
    run: Annotated[Path, typer.Argument(help="A run's directory.")],
) -> None:
    """Carry out one phase of a run, which may be repeated; `docs/runs.md` lists them."""
    from onceproof.phases.bodies import BODIES

    if name not in BODIES:
        raise RequestError(
            f"there is no phase {name!r} to carry out alone: take {', '.join(BODIES)}"
        )
    found = _run_in(run)
    plan = _work_of(found)
    found.logs.mkdir(exist_ok=True)
    BODIES[name](found, plan)


def _live(found: RunDirectory, runs: Path, home: Path | None, *, as_json: bool) -> None:
    from onceproof.past.record import begin_run, record_run
    from onceproof.phases.whole_run import live_run

    typer.echo(f"run {found.root}", err=True)
    recorded(lambda: begin_run(found, runs))
    try:
        with one_interrupt(), shown() as (say, progress):
            verdict = live_run(found, home, say, progress)
    except KeyboardInterrupt:
        recorded(lambda: record_run(found, runs))
        typer.echo(f"interrupted: all is released, and {found.root} is UNKNOWN", err=True)
        raise typer.Exit(2) from None
    recorded(lambda: record_run(found, runs))
    document = read_document(found)
    if as_json:
        print_document(document)
    else:
        print_verdict(document)
    raise typer.Exit(verdict.exit_code)
