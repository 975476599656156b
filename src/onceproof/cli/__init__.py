"""The command line: arguments in, one document or a few lines out; nothing is decided here."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import signal
import sys
from importlib import metadata
from traceback import format_exception
from typing import Annotated, get_args

import typer
from typer.exceptions import TyperException

from onceproof.cli.examples import EXAMPLES
from onceproof.errors import OnceproofError, RequestError
from onceproof.setup.libraries import find_library, missing_message
from onceproof.stacks import VERBS
from onceproof.stacks.links import Deed

PROGRAM, COMPLETION = "onceproof", "_ONCEPROOF_COMPLETE"  # a variable that shells set
EXIT_UNKNOWN = 2
EXIT_WRONG_REQUEST = 3
# As a shell tells of who wrote to a pipe that nobody reads, and of who was asked to end.
EXIT_UNREAD, EXIT_ENDED = 141, 143

# The groups that `--help` shows, with the commands of each module. Only the module of the command
# that is called is imported.
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "A job of yours": {
        "init": ("init",),
        "doctor": ("doctor",),
        "scenarios": ("list", "show", "explain"),
    },
    "Runs": {
        "run": ("run", "replay", "release", "phase"),
        "judge": ("judge",),
        "shrink": ("shrink",),
        "table": ("table",),
    },
    "Evidence": {
        "diff": ("diff",),
        "checkpoint": ("checkpoint",),
        "sweep": ("sweep",),
    },
    "Nights and the gate": {
        "nightly": ("nightly",),
        "history": ("history",),
        "known": ("known",),
        "gate": ("gate",),
        "prune": ("prune",),
    },
    "The stack": {
        "stack": ("setup", "up", "down", "status", "logs", *VERBS),
        "links": (*get_args(Deed), "heal"),
    },
}


def main() -> None:
    """Run the command line: 0 as claimed, 1 not as claimed, 2 unknown, 3 a wrong request."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("onceproof").setLevel(logging.INFO)  # others tell only what is amiss
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it warns of every port that is closed
    # so that what was begun is undone
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_ENDED))
    if COMPLETION in os.environ:
        _app([])(prog_name=PROGRAM)  # it exits
    sys.exit(carry_out(sys.argv[1:] or ["--help"]))


def carry_out(arguments: list[str]) -> int:
    """Run one command and return its exit code; every error that we foresaw is one sentence.

    What nobody foresaw is no verdict: 2, with its traceback. 1 is never the code of an error.
    """
    try:
        return int(_app(arguments)(arguments, prog_name=PROGRAM, standalone_mode=False) or 0)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # Typer ends with 1 where nobody reads
            return EXIT_UNREAD
        if error.code == EXIT_ENDED:
            raise
        code, said = _told(error)  # a module of the user's that exits while it is imported
    except Exception as error:
        code, said = _told(error)
    print(f"onceproof: {said}", file=sys.stderr)  # noqa: T201
    return code


def _app(arguments: list[str]) -> typer.Typer:
    """Return the command line with the commands of one module, or of all where none is named."""
    app = typer.Typer(
        help="Hurts a streaming pipeline on purpose, and says with evidence what it lost.",
        pretty_exceptions_enable=False,
    )
    app.callback()(_onceproof)
    called = next((word for word in arguments if not word.startswith("-")), "")
    modules = [(one, group) for group, parts in GROUPS.items() for one in parts]
    named = [(one, group) for one, group in modules if called in GROUPS[group][one]]
    for module, group in named or modules:
        part = typer.Typer()
        importlib.import_module(f"onceproof.cli.{module}").register(part)
        for command in part.registered_commands:
            command.rich_help_panel = group
            name = command.name or getattr(command.callback, "__name__", "")
            command.epilog = _example(str(name))
        for commands in part.registered_groups:
            commands.rich_help_panel = group
            commands.epilog = _example(str(commands.name))
        app.registered_commands += part.registered_commands
        app.registered_groups += part.registered_groups
    return app


def _example(command: str) -> str:
    return f"Example: {EXAMPLES[command]}"


def _print_version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"onceproof {metadata.version('onceproof')}")
        raise typer.Exit


def _onceproof(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def _told(error: BaseException) -> tuple[int, str]:
    """Return the exit code of an error, and what is said of it."""
    match error:
        case RequestError():
            return EXIT_WRONG_REQUEST, str(error)
        case OnceproofError():
            return EXIT_UNKNOWN, str(error)
        case ModuleNotFoundError() if library := find_library(error.name):
            return EXIT_WRONG_REQUEST, missing_message([library])
        case TyperException():
            return EXIT_WRONG_REQUEST, _with_value(error)
        case typer.Abort():
            return EXIT_WRONG_REQUEST, "no answer was given, so nothing was done"
        case OSError(errno=errno.ENOSPC):
            where = f"{error.filename}: " if error.filename else ""
            return EXIT_WRONG_REQUEST, f"{where}{error.strerror}: make room, or name another folder"
        case OSError() if error.filename is not None:
            said = "name a file or folder that is there and that this user may write to"
            return EXIT_WRONG_REQUEST, f"{error.filename}: {error.strerror}: {said}"
    return EXIT_UNKNOWN, f"nobody foresaw this:\n{''.join(format_exception(error)).rstrip()}"


def _with_value(error: TyperException) -> str:
    """Return what is wrong with an option, with the value that it was given."""
    said = error.format_message()
    errors = getattr(error.__cause__, "errors", None)  # Pydantic's, by which Typer reads values
    if errors is None:
        return said
    return said.replace(error.message, f"{errors()[0]['input']!r}: {error.message}", 1)
