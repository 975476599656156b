"""`onceproof init`: the first scenario of a job, from what its user says of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from onceproof.errors import RequestError
from onceproof.scenario.starter import Answers, kinds, starter

_ASKED = {
    "command": "The command that starts the job, as you type it",
    "topic": "The topic that it reads, as the command says it",
    "output": f"Where it writes, as the command says it: {kinds()}",
    "key": "The columns that tell its rows apart, with commas between them",
}


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(init)


def init(
    file: Annotated[
        Path | None, typer.Argument(help="The file to write (default: the job's name and .yaml).")
    ] = None,
    command: Annotated[str, typer.Option(help=f"{_ASKED['command']}.")] = "",
    topic: Annotated[str, typer.Option(help=f"{_ASKED['topic']}.")] = "",
    output: Annotated[str, typer.Option(help=f"{_ASKED['output']}.")] = "",
    key: Annotated[str, typer.Option(help=f"{_ASKED['key']}.")] = "",
    records: Annotated[
        str, typer.Option(help="A file of sample records; without one, records are made up.")
    ] = "",
) -> None:
    """Write a first scenario for a job of yours; what is not said is asked on a terminal."""
    from onceproof.scenario.catalogue import read_text

    said = _asked({"command": command, "topic": topic, "output": output, "key": key})
    names = [name.strip() for name in said.pop("key").split(",")]
    answers = Answers(**said, key=names, records=records)
    path = file or Path(f"{answers.pipeline}.yaml")
    if path.exists():
        raise RequestError(f"{path} is there already: remove it, or name another file")
    if not path.parent.is_dir():
        raise RequestError(f"there is no folder {path.parent} for {path.name}: make it first")
    text = starter(answers, path.parent)
    read_text(text, str(path), str(path.parent.resolve()))
    with path.open("x", encoding="utf-8") as written:
        written.write(text)
    typer.echo(f"{path} is written. Next:\n  onceproof doctor {path}\n  onceproof run {path}")


def _asked(given: dict[str, str]) -> dict[str, str]:
    missing = [name for name, said in given.items() if not said]
    if missing and not sys.stdin.isatty():
        told = " and ".join(f"--{name}" for name in missing)
        raise RequestError(f"init needs {told}: write them, or call it on a terminal, which asks")
    return {name: said or typer.prompt(_ASKED[name]) for name, said in given.items()}
