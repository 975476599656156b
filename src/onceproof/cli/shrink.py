"""`onceproof shrink`: reduce a failed run to the smallest plan that fails in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from onceproof import api
from onceproof.cli.output import Runs
from onceproof.runs.directory import RunDirectory


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(shrink)


def shrink(
    run: Annotated[Path, typer.Argument(help="The directory of a run that failed.")],
    at_most: Annotated[int, typer.Option(min=1, help="The number of runs to try.")] = 20,
    runs: Runs = None,
    home: Annotated[
        Path | None, typer.Option("--home", help="The folder of the stack (default: as `up`).")
    ] = None,
) -> None:
    """Find a smaller plan that fails in the same way, and print it as a scenario file.

    Fewer faults are tried first, then half of the input repeatedly; each try is a whole run.
    """
    from onceproof.phases import shrink as shrinking
    from onceproof.scenario.model import Fields, Scenario, to_yaml

    def live(fields: Fields, seed: int) -> Mapping[str, Any]:
        one = Scenario.of(fields, file="shrunk.yaml")
        return api.run(one, seed=seed, stack=home, runs=runs, is_recorded=False).document

    found, is_smaller = shrinking.shrink(
        RunDirectory(run), live, lambda words: typer.echo(words, err=True), at_most
    )
    if not is_smaller:
        typer.echo("no smaller plan was found that fails in the same way", err=True)
    typer.echo(to_yaml(found), nl=False)
