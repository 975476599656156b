"""What commands print: with --json one document on standard output, else lines for a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from onceproof.machine.home import RUNS

SCHEMA = 1
Runs = Annotated[
    Path | None, typer.Option("--runs", help=f"Where runs go (default: {RUNS}, else ./runs).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def print_document(document: dict[str, Any]) -> None:
    """Print a document that other programs read; its schemas are in docs/schemas/."""
    typer.echo(json.dumps({"schema": SCHEMA} | document, indent=2, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; cells are text as it is, never markup."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)


def print_columns(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns that are never folded, so that names can be taken from them."""
    cells = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(padded).rstrip())
