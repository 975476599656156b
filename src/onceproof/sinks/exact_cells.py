"""Values as they were written, by whomever, in the type of the column that is compared.

A type holds a value exactly, or refuses it: what would be cut or guessed at is an error, since a
comparison of what was made of it could call wrong rows right. Text alone takes any value: a number
by its digits, true and false by their names, what is nested as its JSON.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

_NOT_NUMBERS = ("NaN", "Infinity", "-Infinity")  # as Spark's to_json writes them
_IF_WANTED = {
    "bigint": "a whole number of 64 bits, without a point, or another type",
    "int": "a whole number of 32 bits, without a point, or another type",
    "double": "a number that 64 bits hold, or string",
    "boolean": "true or false, or another type",
    "string": "text, or binary",
    "timestamp": "an ISO 8601 text with six decimals of a second at most, or string",
    "binary": "base64, or string",
}


class Digits(float):
    """A number of JSON with a point or an exponent, which knows how it is written."""

    digits: str

    def __new__(cls, digits: str) -> Digits:
        """Return the number that these digits are."""
        made = super().__new__(cls, digits)
        made.digits = digits
        return made

    def __repr__(self) -> str:
        """Return the digits."""
        return self.digits


def from_json(text: str | bytes) -> Any:
    """Return what JSON says, its numbers with their digits; raises `ValueError`."""
    return json.loads(text, parse_float=Digits, object_pairs_hook=_each_once)


def exact(name: str, value: Any, kind: str) -> Any:
    """Return the value of a column as its type holds it, NULL as it is; else raise `ValueError`."""
    if value is None or kind not in _MAKERS:
        return value
    try:
        return _MAKERS[kind](value)
    except (ValueError, TypeError, ArithmeticError):
        raise _refusal(name, value, kind) from None


def exact_text(name: str, text: str, kind: str) -> Any:
    """Return what a text says that has no type: a record's key, or the name of a folder."""
    pattern, make = _TEXTS.get(kind, ("(?s:.*)", str))
    if not re.fullmatch(pattern, text):
        raise _refusal(name, text, kind)
    return exact(name, make(text), kind)


def _refusal(name: str, value: Any, kind: str) -> ValueError:
    return ValueError(
        f"column {name} holds {value!r:.100}, which is no {kind}: write {_IF_WANTED[kind]} into the"
        " scenario's columns"
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"it has a member twice: {', '.join(name for name, _ in pairs)}")
    return found


def _whole(bits: int) -> Callable[[Any], int]:
    def make(value: Any) -> int:
        if isinstance(value, bool) or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise ValueError
        return operator.index(value)

    return make


def _double(value: Any) -> float:
    if isinstance(value, str) and value not in _NOT_NUMBERS:
        raise ValueError
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise ValueError
    found = float(value)
    if isinstance(value, int | Decimal) and value not in (Decimal(found), Decimal(repr(found))):
        raise ValueError
    return found


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _text(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        raise ValueError
    return value if isinstance(value, str) else _shown(value)


def _shown(value: Any) -> str:
    """Return a value that is no text as JSON writes it, or as its own type does."""
    if isinstance(value, Mapping):
        members = (f"{_inner(str(name))}: {_inner(held)}" for name, held in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inner, value))}]"
    if isinstance(value, Digits):
        return value.digits
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return str(value)


def _inner(value: Any) -> str:
    plain = Mapping, list, tuple, bool, int, float, type(None)
    return _shown(value) if isinstance(value, plain) else json.dumps(str(value), ensure_ascii=False)


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, str):
        if re.search(r"[.,][0-9]{6}[0-9]*[1-9]", value):
            raise ValueError
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        if getattr(value, "nanosecond", None):  # as those of pandas
            raise ValueError
        return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    raise ValueError


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return base64.b64decode(value, validate=True)
    if not isinstance(value, bytes | bytearray | memoryview):
        raise ValueError
    return bytes(value)


_MAKERS: Mapping[str, Callable[[Any], Any]] = {
    "bigint": _whole(64),
    "int": _whole(32),
    "double": _double,
    "string": _text,
    "boolean": _truth,
    "timestamp": _moment,
    "binary": _bytes,
}
_TEXTS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "bigint": ("[+-]?[0-9]+", int),
    "int": ("[+-]?[0-9]+", int),
    "double": (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|-?Infinity|NaN", float),
    "boolean": ("true|false", lambda text: text == "true"),
}
