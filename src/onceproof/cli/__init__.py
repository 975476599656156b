"""The command line: arguments in, a document or a few lines out; no decisions are made here."""

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
# As a shell reports a process that SIGPIPE or SIGTERM ended.
EXIT_UNREAD, EXIT_ENDED = 141, 143

# The groups of `--help`, with the commands of each module. Only the called command's module is
# imported.
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
    logging.getLogger("onceproof").setLevel(logging.INFO)  # other loggers: warnings only
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it warns about every closed port
    # so that context managers clean up
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_ENDED))
    if COMPLETION in os.environ:
        _app([])(prog_name=PROGRAM)  # it exits
    sys.exit(carry_out(sys.argv[1:] or ["--help"]))


def carry_out(arguments: list[str]) -> int:
    """Run one command and return its exit code; an expected error is printed as one sentence.

    An unexpected error is printed with its traceback; its code is 2. No error has the code 1.
    """
    try:
        return int(_app(arguments)(arguments, prog_name=PROGRAM, standalone_mode=False) or 0)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # Typer exits with 1
            return EXIT_UNREAD
        if error.code == EXIT_ENDED:
            raise
        code, message = _describe(error)  # a user's module that exits while it is imported
    except Exception as error:
        code, message = _describe(error)
    print(f"onceproof: {message}", file=sys.stderr)  # noqa: T201
    return code


def _app(arguments: list[str]) -> typer.Typer:
    """Return the command line with the commands of the called module, by default of all."""
    app = typer.Typer(
        help="Inject faults into a Spark streaming job, and prove what it lost or duplicated.",
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
    """Parse the options before a command."""


def _describe(error: BaseException) -> tuple[int, str]:
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
            return EXIT_WRONG_REQUEST, "no answer was given, so nothing was changed"
        case OSError(errno=errno.ENOSPC):
            where = f"{error.filename}: " if error.filename else ""
            return (
                EXIT_WRONG_REQUEST,
                f"{where}{error.strerror}; free some space, or use another folder",
            )
        case OSError() if error.filename is not None:
            use = "use an existing file or folder that this user may write to"
            return EXIT_WRONG_REQUEST, f"{error.filename}: {error.strerror}; {use}"
    traceback = "".join(format_exception(error)).rstrip()
    return EXIT_UNKNOWN, f"internal error; please report it with this traceback:\n{traceback}"


def _with_value(error: TyperException) -> str:
    message = error.format_message()
    errors = getattr(error.__cause__, "errors", None)  # of Pydantic, with which Typer parses values
    if errors is None:
        return message
    return message.replace(error.message, f"{errors()[0]['input']!r}: {error.message}", 1)
