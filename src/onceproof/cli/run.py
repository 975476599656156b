"""`onceproof run`, `replay`, `release` and `phase`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onceproof import api
from onceproof.api import Run, Say
from onceproof.cli.live import one_interrupt, progress_display
from onceproof.cli.output import AsJson, Runs, Which, print_run
from onceproof.errors import RequestError, unknown

if TYPE_CHECKING:
    from onceproof.phases.produce import Progress

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
    scenario: Which,
    seed: Annotated[int, typer.Option(min=0, help="The seed of every random choice.")] = 0,
    random: Annotated[
        int,
        typer.Option(
            min=0, help="Draw this many faults from the seed, instead of the scenario's own."
        ),
    ] = 0,
    runs: Runs = None,
    home: Home = None,
    subject: Subject = "",
    is_open: Open = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario: exit 0 as claimed, 1 not as claimed, 2 unknown, 3 a wrong request.

    A running stack is used; else one is started for this run and taken down after it.
    """
    _show(
        lambda say, progress: api.run(
            scenario,
            seed=seed,
            random=random,
            stack=home,
            runs=runs,
            subject=subject,
            is_open=is_open,
            say=say,
            progress=progress,
        ),
        as_json=as_json,
    )


def replay(
    run: Annotated[Path, typer.Argument(help="A run's directory.")],
    runs: Runs = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Run the plan of a stored run again, as a new run."""
    _show(
        lambda say, progress: api.replay(run, stack=home, runs=runs, say=say, progress=progress),
        as_json=as_json,
    )


def release(
    run: Annotated[Path, typer.Argument(help="The directory of an interrupted run.")],
) -> None:
    """Remove what a run left: its processes, its topic, its table, and its own stack."""
    phase("release", run)


def phase(
    name: Annotated[str, typer.Argument(help="prepare, produce, observe, recompute ...")],
    run: Annotated[Path, typer.Argument(help="A run's directory.")],
) -> None:
    """Run one phase of a run, which may be repeated; docs/explanation/runs.md lists them."""
    from onceproof.phases.all_phases import PHASES

    if name not in PHASES:
        raise RequestError(unknown("phase", name, PHASES))
    found = api.stored(run)
    plan = api.plan_in(found)
    found.logs.mkdir(exist_ok=True)
    PHASES[name](found, plan)


def _show(live: Callable[[Say, Progress | None], Run], *, as_json: bool) -> None:
    try:
        with one_interrupt(), progress_display() as (say, progress):
            found = live(say, progress)
    except KeyboardInterrupt:
        typer.echo("interrupted; everything is released, and the run is UNKNOWN", err=True)
        raise typer.Exit(2) from None
    print_run(found, as_json=as_json)
