"""`onceproof prune`: remove directories of old runs; the history keeps their rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onceproof.cli.output import AsJson, Runs, print_document
from onceproof.judging.report.text import printable
from onceproof.machine.home import runs_folder

if TYPE_CHECKING:
    from onceproof.gates.prune import Kept


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(prune)


def prune(
    keep: Annotated[int, typer.Option(min=1, max=100_000, help="Keep runs of this many days.")],
    policy: Annotated[
        Path | None, typer.Option(help="A gate's policy: runs that it may need are kept.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be removed.")
    ] = False,
    runs: Runs = None,
    as_json: AsJson = False,
) -> None:
    """Remove the directories of older runs; their rows stay in the history."""
    from onceproof.gates.policy import read_policy
    from onceproof.gates.prune import look, remove
    from onceproof.past.record import find_store

    needs = read_policy(policy).needs if policy else ()
    folder = runs_folder(runs)
    store = find_store(folder)
    found = look(folder, store.entries() if store else (), keep, needs, datetime.now(UTC))
    if not dry_run:
        remove(store, [one for one in found if not one.because])
    if as_json:
        _print_document(found, dry_run=dry_run)
    else:
        _print(found, dry_run=dry_run)


def _print_document(found: Sequence[Kept], *, dry_run: bool) -> None:
    rows = [
        {
            "run": one.run,
            "directory": str(one.directory),
            "at": one.at.isoformat(),
            "kept": bool(one.because),
            "because": one.because or None,
        }
        for one in found
    ]
    print_document({"dry_run": dry_run, "runs": rows})


def _print(found: Sequence[Kept], *, dry_run: bool) -> None:
    for one in found:
        if one.because != "young":
            does = (
                f"keeps, {one.because}:"
                if one.because
                else "would remove"
                if dry_run
                else "removed"
            )
            typer.echo(f"{does} {printable(str(one.directory))}")
    going = sum(not one.because for one in found)
    done = "would be removed" if dry_run else "removed"
    typer.echo(f"Runs: {len(found)}, of which {going} {done}.")
