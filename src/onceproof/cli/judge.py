"""`onceproof judge`: judge a stored run again, from its directory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onceproof import api
from onceproof.cli.output import AsJson, print_run


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(judge)


def judge(
    run: Annotated[Path, typer.Argument(help="A run's directory, as `onceproof run` wrote it.")],
    as_json: AsJson = False,
) -> None:
    """Judge a run from its directory; exit 0 as claimed, 1 not as claimed, 2 unknown.

    The verdict history is updated only if it has the run.
    """
    print_run(api.judge(run), as_json=as_json)
