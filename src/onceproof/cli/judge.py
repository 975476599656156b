"""`onceproof judge`: judge a stored run once more, from its directory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onceproof.cli.output import AsJson, print_document
from onceproof.cli.recording import recorded
from onceproof.judge.report import read_document
from onceproof.judge.report.text import print_verdict
from onceproof.phases.judge import judge_run
from onceproof.run.directory import RunDirectory


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(judge)


def judge(
    run: Annotated[Path, typer.Argument(help="A run's directory, as `onceproof run` wrote it.")],
    as_json: AsJson = False,
) -> None:
    """Judge a run from its directory; exit 0 as claimed, 1 not as claimed, 2 unknown.

    The verdict history learns of it only where it knows the run.
    """
    from onceproof.past.record import judged_again

    verdict = judge_run(run)
    recorded(lambda: judged_again(RunDirectory(run), run.absolute().parent.parent))
    document = read_document(RunDirectory(run))
    if as_json:
        print_document(document)
    else:
        print_verdict(document)
    raise typer.Exit(verdict.exit_code)
