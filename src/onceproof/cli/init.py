"""`onceproof init`: write a first scenario of a job, from answers of its user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from onceproof.errors import RequestError
from onceproof.scenario.starter import Answers, kinds, starter

_QUESTIONS = {
    "command": "The command that starts the job, as you type it",
    "topic": "The topic that it reads, as in the command",
    "output": f"Where it writes, as in the command: {kinds()}",
    "key": "The key columns of its rows, separated by commas",
}


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(init)


def init(
    file: Annotated[
        Path | None, typer.Argument(help="The file to write (default: the job's name and .yaml).")
    ] = None,
    command: Annotated[str, typer.Option(help=f"{_QUESTIONS['command']}.")] = "",
    topic: Annotated[str, typer.Option(help=f"{_QUESTIONS['topic']}.")] = "",
    output: Annotated[str, typer.Option(help=f"{_QUESTIONS['output']}.")] = "",
    key: Annotated[str, typer.Option(help=f"{_QUESTIONS['key']}.")] = "",
    records: Annotated[
        str, typer.Option(help="A file of sample records; without one, records are generated.")
    ] = "",
) -> None:
    """Write a first scenario for a job of yours; a terminal asks for missing options."""
    from onceproof.scenario.catalogue import read_text

    given = _ask({"command": command, "topic": topic, "output": output, "key": key})
    names = [name.strip() for name in given.pop("key").split(",")]
    answers = Answers(**given, key=names, records=records)
    path = file or Path(f"{answers.pipeline}.yaml")
    if path.exists():
        raise RequestError(f"{path} exists already; remove it, or name another file")
    if not path.parent.is_dir():
        raise RequestError(f"folder {path.parent} for {path.name} does not exist; create it first")
    text = starter(answers, path.parent)
    read_text(text, str(path), str(path.parent.resolve()))
    with path.open("x", encoding="utf-8") as target:
        target.write(text)
    typer.echo(f"Wrote {path}. Next:\n  onceproof doctor {path}\n  onceproof run {path}")


def _ask(given: dict[str, str]) -> dict[str, str]:
    absent = [f"--{name}" for name, answer in given.items() if not answer]
    if absent and not sys.stdin.isatty():
        raise RequestError(f"init lacks {', '.join(absent)}; write them, or run it on a terminal")
    return {name: answer or typer.prompt(_QUESTIONS[name]) for name, answer in given.items()}
