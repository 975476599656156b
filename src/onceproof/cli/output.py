"""Output of commands: one document on standard output with --json, else lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len, set_cell_size

from onceproof.api import Run
from onceproof.machine.home import RUNS

SCHEMA = 1
Runs = Annotated[
    Path | None, typer.Option("--runs", help=f"Where runs go (default: {RUNS}, else ./runs).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def _scenarios(incomplete: str) -> list[str]:
    from onceproof.scenario.catalogue import catalogue_names

    return [name for name in catalogue_names() if name.startswith(incomplete)]


_WHICH = typer.Argument(
    help="A scenario: its name in the catalogue, FILE, or FILE::NAME.", autocompletion=_scenarios
)
Which = Annotated[str, _WHICH]
MaybeWhich = Annotated[str | None, _WHICH]


def print_document(document: dict[str, Any]) -> None:
    """Print a document for other programs; the schemas are in docs/schemas/."""
    typer.echo(json.dumps({"schema": SCHEMA} | document, indent=2, default=str))


def print_columns(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns that are never folded, so that names can be copied.

    The lines of a cell are printed below each other.
    """
    cells = [[cell.split("\n") for cell in row] for row in [columns, *rows]]
    widths = [
        max(cell_len(line) for cell in one for line in cell) for one in zip(*cells, strict=True)
    ]
    for row in cells:
        for line in zip_longest(*row, fillvalue=""):
            padded = (set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True))
            typer.echo("  ".join(padded).rstrip())


def print_run(run: Run, *, as_json: bool) -> None:
    """Print a run's verdict, and exit with its code."""
    from onceproof.judging.report.text import print_verdict

    if as_json:
        print_document(run.document)
    else:
        print_verdict(run.document)
    raise typer.Exit(run.exit_code)
