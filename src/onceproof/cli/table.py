"""`onceproof table`: the table of sources and sink families, claimed and measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from onceproof.cli.output import AsJson, Runs, print_columns, print_document
from onceproof.machine.home import runs_folder

if TYPE_CHECKING:
    from onceproof.table.cells import Cell


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(table)


def table(
    quick: Annotated[
        bool, typer.Option("--quick", help="Run Spark in one process, and one kind of crash.")
    ] = False,
    runs: Runs = None,
    as_json: AsJson = False,
) -> None:
    """Measure what each pair of source and sink family guarantees, at every crash point.

    It starts a stack of its own. Exit 0 if each cell measures what is documented, 1 if one does
    not, 2 if one has no result.
    """
    from onceproof.table import measure

    began = time.monotonic()
    folder = runs_folder(runs)
    found = measure.measure(folder, is_quick=quick, say=lambda words: typer.echo(words, err=True))
    if as_json:
        seconds = time.monotonic() - began
        print_document(measure.document(found, is_quick=quick, seconds=seconds))
    else:
        _print(found)
    raise typer.Exit(measure.exit_code(found))


def _print(found: list[Cell]) -> None:
    documents = [one.document() for one in found]
    names = ("source", "family", "sink", "claimed", "measured")
    rows = [
        [*(str(one[name]) for name in names), _points(one), "yes" if one["complete"] else "no"]
        for one in documents
    ]
    print_columns([*names, "crash points", "complete"], rows)
    for one in documents:
        if one["reason"]:
            typer.echo(f"{one['sink']}, {one['source']}: {one['reason']}")


def _points(cell: dict[str, list[dict[str, bool]]]) -> str:
    landed = [one["landed"] for one in cell["crash_points"]]
    return f"{sum(landed)} of {len(landed)}"
