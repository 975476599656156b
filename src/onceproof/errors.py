"""The expected errors of Onceproof, and the common forms of their messages.

Any other exception that escapes is a defect.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OnceproofError(Exception):
    """Root of every error of this package; its message is for users.

    A message has the value, the problem and the remedy, in this order, if possible in one line.
    """


class RequestError(OnceproofError):
    """The request is invalid, so nothing was started or changed; the command exits with 3."""


class StackError(OnceproofError):
    """The stack did not respond as requested in time; the command exits with 2."""


class EngineError(OnceproofError):
    """The process that compares two sides crashed or was killed; the command exits with 2."""


class EvidenceError(OnceproofError):
    """Evidence of a run is missing, unreadable or contradictory; the verdict is UNKNOWN."""


def unknown(what: str, value: object, choices: Iterable[object], *, listed_by: str = "") -> str:
    """Return the message for a value that is not among the choices; suggest the nearest one.

    `listed_by` is a command that lists the choices; without it the message lists them.
    """
    names = sorted(map(str, choices))
    if not names:
        return f"unknown {what} {value!r}; there is none to choose"
    near = difflib.get_close_matches(str(value), names, 1)
    hint = f"; did you mean {near[0]!r}? " if near else "; "
    rest = f"{listed_by} lists all" if listed_by else f"choose one of {', '.join(names)}"
    return f"unknown {what} {value!r}{hint}{rest[0].upper() + rest[1:] if near else rest}"


def invalid(what: str, value: object, use: str) -> str:
    """Return the message for a value of the wrong form or type; `use` describes valid ones."""
    return f"invalid {what} {value!r}; use {use}"


def out_of_range(what: str, value: object, use: str) -> str:
    """Return the message for a number beyond its limits; `use` gives the limits."""
    return f"{what} {value} is out of range; use {use}"


def missing(what: str, write: str) -> str:
    """Return the message for an option or field that is required; `write` gives an example."""
    return f"{what} is missing; write {write}"
