"""The display of a running run on a terminal, and the handling of Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from onceproof.phases.produce import Progress


@contextmanager
def one_interrupt() -> Iterator[None]:
    """End the run at the first Ctrl-C, and ignore later ones while it is released."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def progress_display() -> Iterator[tuple[Callable[[str], None], Progress | None]]:
    """Show the current step: with a bar on a terminal, else in a line for each step."""
    if not sys.stderr.isatty():
        yield lambda words: typer.echo(words, err=True), None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[sent]}"),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("plan", total=None, sent="")

        def update(done: int, of: int) -> None:
            bars.update(task, completed=done, total=of, sent=f"{done:,} of {of:,} events")

        yield lambda words: bars.update(task, description=words), update
