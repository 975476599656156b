"""`onceproof shrink`: a run that failed, made as small as it can be and still fail the same way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from onceproof.cli.output import Runs
from onceproof.judge.report import read_document
from onceproof.machine.home import runs_folder
from onceproof.run.directory import RunDirectory


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(shrink)


def shrink(
    run: Annotated[Path, typer.Argument(help="The directory of a run that failed.")],
    at_most: Annotated[int, typer.Option(min=1, help="How many runs to try.")] = 20,
    runs: Runs = None,
    home: Annotated[
        Path | None, typer.Option("--home", help="The folder of the stack (default: as `up`).")
    ] = None,
) -> None:
    """Find a smaller plan that fails in the same way, and print it as a scenario file.

    Fewer faults are tried first, then half the input again and again; each try is a whole run.
    """
    from onceproof.phases import shrink as shrinking
    from onceproof.phases.plan import make_plan
    from onceproof.phases.whole_run import live_run
    from onceproof.scenario.model import Fields, Scenario, to_yaml

    folder = runs_folder(runs)

    def live(fields: Fields, seed: int) -> Mapping[str, Any]:
        found = make_plan(Scenario.of(fields, file="shrunk.yaml"), seed, folder)
        live_run(found, home)
        return read_document(found)

    found, is_smaller = shrinking.shrink(
        RunDirectory(run), live, lambda words: typer.echo(words, err=True), at_most
    )
    if not is_smaller:
        typer.echo("nothing smaller was found that fails in the same way", err=True)
    typer.echo(to_yaml(found), nl=False)
