"""`onceproof checkpoint`: the batches of a Spark checkpoint, and its defects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from onceproof.checkpoint.picture import picture
from onceproof.cli.output import AsJson, print_columns, print_document


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(checkpoint)


def checkpoint(
    path: Annotated[Path, typer.Argument(help="The folder of a Spark checkpoint, of any job.")],
    as_json: AsJson = False,
) -> None:
    """Show a checkpoint batch by batch: exit 0 if sound, 1 if not, 3 if it is missing.

    In a run's directory it is also compared with the log that was archived during the run.
    """
    archive = path.resolve().parent / "checkpoint-log"
    document = picture(path, archive if archive.is_dir() else None)
    if as_json:
        print_document(document)
    else:
        _print(document)
    if not document["sound"]:
        raise typer.Exit(1)


def _print(document: dict[str, Any]) -> None:
    columns = ["batch", "watermark", "next", "committed", "state", "sources"]
    print_columns(columns, map(_row, document["batches"]))
    typer.echo("")
    for trouble in document["troubles"]:
        typer.echo(trouble)
    if document["sound"]:
        typer.echo("The files show no defect.")


def _row(batch: dict[str, Any]) -> list[str]:
    stores = len(batch["state"])
    return [
        str(batch["batch"]),
        _number(batch["watermark_ms"]),
        _number(batch["next_watermark_ms"]),
        "yes" if batch["committed"] else "no",
        f"{batch['batch'] + 1} in {stores} store{'s' * (stores != 1)}" if stores else "",
        "; ".join("-" if one is None else json.dumps(one) for one in batch["sources"]),
    ]


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
