"""`onceproof sweep`: list what a writer left open in a target, and settle it on demand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onceproof.cli.output import print_columns
from onceproof.comparison.places import POSTGRES, PostgresTable, find_place
from onceproof.errors import RequestError, invalid, missing, unknown

if TYPE_CHECKING:
    from onceproof.sinks.sweep import Left, Sweep

_KAFKA = "kafka://"
Place = Annotated[
    str,
    typer.Argument(
        metavar="TABLE_FOLDER_OR_TOPIC",
        help="A table, as postgresql://user@host/database#schema.table; a topic, as"
        " kafka://host:port,host:port#topic; or a sink's folder.",
    ),
]
Writer = Annotated[
    str, typer.Option(help="The writer to settle; without it, all writers are listed.")
]
Checkpoint = Annotated[
    str, typer.Option(help="The query's checkpoint; needed for sinks with a write-ahead log.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of librdkafka for the connection."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(sweep)


def sweep(
    place: Place,
    writer: Writer = "",
    checkpoint: Checkpoint = "",
    settings: Settings = None,
    yes: Yes = False,
) -> None:
    """Settle what a stopped job left open: exit 0, or 3 if it is impossible.

    The writer is claimed, as by the next start of the job: a job that still runs is stopped.
    """
    target = _target(place, checkpoint, settings or [])
    known = target.writers()
    if not writer:
        _list(target, known)
        return
    if writer not in known:
        if not known:
            raise RequestError(f"unknown writer {writer!r}; no writer has used {place}")
        raise RequestError(unknown("writer", writer, known))
    left = target.left(writer)
    if not left:
        typer.echo(f"Writer {writer} left nothing open.")
        return
    _print(left)
    typer.echo(f"Settling claims writer {writer}: a job that still runs is stopped.")
    if not yes:
        _ask()
    done = target.settle(writer)
    typer.echo(", ".join(f"{count} {what}" for what, count in done.items()) + ".")


def _target(place: str, checkpoint: str, settings: list[str]) -> Sweep:
    from onceproof.sinks import Target
    from onceproof.sinks.sweep import Sweep

    if place.startswith(_KAFKA):
        return _topic(place, checkpoint, settings)
    found = find_place("swept", place) if place.startswith(POSTGRES) else None
    if isinstance(found, PostgresTable):
        target = Target(found.address, found.table, {}, (), checkpoint=checkpoint)
        return Sweep("postgresql", target)
    folder = Path(place).absolute()
    return Sweep("files", Target(str(folder.parent), folder.name, {}, ()))


def _topic(place: str, checkpoint: str, settings: list[str]) -> Sweep:
    from onceproof.sinks import Target
    from onceproof.sinks.sweep import Sweep

    address, _, topic = place.removeprefix(_KAFKA).partition("#")
    if not topic:
        raise RequestError(f"{place} lacks a topic; write it after a #, as {_KAFKA}host:port#topic")
    if odd := [one for one in settings if "=" not in one]:
        raise RequestError(invalid("--set", odd[0], "NAME=VALUE"))
    options = {
        f"kafka.{name}": value for name, _, value in (one.partition("=") for one in settings)
    }
    target = Target(address, topic, {}, (), options=options, checkpoint=checkpoint)
    return Sweep("kafka", target)


def _list(target: Sweep, known: Sequence[str]) -> None:
    counts = {writer: len(target.left(writer)) for writer in known}
    if not any(counts.values()):
        typer.echo("Nothing is left open.")
        return
    print_columns(["writer", "left open"], ([name, str(count)] for name, count in counts.items()))
    raise RequestError(missing("--writer", "--writer NAME with one of these names"))


def _print(left: Sequence[Left]) -> None:
    now = datetime.now(tz=UTC)
    print_columns(
        ["what", "batch", "attempt", "age", "name", "fate"],
        (
            [
                one.kind,
                str(one.part.batch),
                str(one.part.attempt),
                "-" if one.since is None else _age((now - one.since).total_seconds()),
                one.part.name,
                one.fate,
            ]
            for one in left
        ),
    )


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _ask() -> None:
    if not sys.stdin.isatty():
        raise RequestError("nothing was changed; without a terminal, write --yes")
    if not typer.confirm("Settle them?"):
        raise RequestError("nothing was changed; the answer was no")
