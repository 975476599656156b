"""The command line: arguments in, one document or a few lines out; nothing is decided here."""

from __future__ import annotations

import logging
import signal
import sys

import typer
from typer.exceptions import TyperException

from onceproof.cli import (
    checkpoint,
    diff,
    doctor,
    gate,
    history,
    init,
    judge,
    known,
    links,
    nightly,
    prune,
    run,
    scenarios,
    shrink,
    stack,
    sweep,
    table,
)
from onceproof.errors import OnceproofError, RequestError

EXIT_UNKNOWN = 2
EXIT_WRONG_REQUEST = 3

app = typer.Typer(
    help="Hurts a streaming pipeline on purpose, and says with evidence what it lost.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
doctor.register(app)
stack.register(app)
links.register(app)
diff.register(app)
scenarios.register(app)
init.register(app)
run.register(app)
shrink.register(app)
judge.register(app)
nightly.register(app)
history.register(app)
known.register(app)
prune.register(app)
gate.register(app)
checkpoint.register(app)
sweep.register(app)
table.register(app)


def main() -> None:
    """Run the command line: 0 as claimed, 1 not as claimed, 2 unknown, 3 a wrong request."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("onceproof").setLevel(logging.INFO)  # others tell only what is amiss
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it warns of every port that is closed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was begun is undone
    sys.exit(carry_out(sys.argv[1:]))


def carry_out(arguments: list[str]) -> int:
    """Run one command and return its exit code; every error that we foresaw is one sentence."""
    try:
        return int(app(arguments, prog_name="onceproof", standalone_mode=False) or 0)
    except RequestError as error:
        code = EXIT_WRONG_REQUEST
        said = str(error)
    except TyperException as error:
        code = EXIT_WRONG_REQUEST
        said = error.format_message()
    except (NotADirectoryError, FileExistsError, PermissionError) as error:
        code = EXIT_WRONG_REQUEST
        said = f"{error.filename}: {error.strerror}; name a folder that this user may write to"
    except OnceproofError as error:
        code = EXIT_UNKNOWN
        said = str(error)
    print(f"onceproof: {said}", file=sys.stderr)  # noqa: T201
    return code
