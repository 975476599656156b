"""`onceproof gate`: decide whether the history proves a policy for a version."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onceproof import api
from onceproof.cli.output import Runs, print_document
from onceproof.errors import RequestError, missing

if TYPE_CHECKING:
    from onceproof.gates.decide import Decision

_SUMMARY = "GITHUB_STEP_SUMMARY"


class Format(StrEnum):
    """The formats of a decision."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    GITHUB = "github"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(gate)


def gate(
    policy: Annotated[
        Path | None, typer.Option(help="The file with the conditions that must hold.")
    ] = None,
    version: Annotated[str, typer.Option(help="The version: the `subject` of its runs.")] = "",
    shape: Annotated[
        Format, typer.Option("--format", help="The format of the output.")
    ] = Format.TEXT,
    example: Annotated[
        bool, typer.Option("--example", help="Print a policy for the catalogue, and nothing else.")
    ] = False,
    runs: Runs = None,
) -> None:
    """Decide the gate for a version: exit 0 open, 1 a run failed, 2 evidence is missing."""
    from onceproof.gates.ask import example_policy

    if example:
        typer.echo(example_policy(), nl=False)
        return
    if policy is None:
        raise RequestError(
            missing("--policy", "the policy's file; `onceproof gate --example` prints one")
        )
    decision = api.gate(policy, version, runs=runs)
    _print(decision, shape)
    raise typer.Exit(decision.exit)


def _print(decision: Decision, shape: Format) -> None:
    from onceproof.gates import formats

    if shape is Format.JSON:
        print_document(formats.to_document(decision))
    elif shape is Format.JUNIT:
        typer.echo(formats.to_junit(decision), nl=False)
    elif shape is Format.GITHUB:
        typer.echo(formats.to_annotations(decision))
        if place := os.environ.get(_SUMMARY):
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(formats.to_summary(decision))
    else:
        typer.echo(formats.to_text(decision))
