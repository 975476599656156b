"""Tells the verdict history of a run, and never lets that hide the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from onceproof.past.entry import Entry


def recorded(record: Callable[[], Entry | None]) -> None:
    """Record a run; what goes wrong is said on standard error, and the verdict stands.

    A run that is not recorded is evidence that the gate does not have, so it stays closed.
    """
    from onceproof.gate.verification import trouble_of

    try:
        entry = record()
        if entry and (said := trouble_of(entry)):
            typer.echo(f"onceproof: the verdict history keeps what it has: {said}", err=True)
    except Exception as error:
        typer.echo(f"onceproof: the run is not in the verdict history: {error}", err=True)
