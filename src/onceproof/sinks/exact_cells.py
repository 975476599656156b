"""Exact conversion of written values to the type of the compared column.

A type holds a value exactly or rejects it. Truncating or guessing is an error, since a comparison
of converted values could pass wrong rows. Only string takes any value: a number by its digits, true
and false by their names, nested values as JSON. The same rules apply to Arrow columns, because
Arrow silently casts a boolean or a timestamp to a number and rounds a decimal to a double.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.sinks.files.parquet_rows import WROTE, schema

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
_TEXTS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "bigint": ("[+-]?[0-9]+", int),
    "int": ("[+-]?[0-9]+", int),
    "double": (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|-?Infinity|NaN", float),
    "boolean": ("true|false", lambda text: text == "true"),
}


class Digits(float):
    """A JSON number with a point or an exponent that keeps its original text."""

    digits: str

    def __new__(cls, digits: str) -> Digits:
        """Return the number with these digits."""
        made = super().__new__(cls, digits)
        made.digits = digits
        return made

    def __repr__(self) -> str:
        """Return the digits."""
        return self.digits


def from_json(text: str | bytes) -> Any:
    """Parse JSON, keeping the digits of numbers; raises `ValueError`."""
    return json.loads(text, parse_float=Digits, object_pairs_hook=_each_once)


def exact(name: str, value: Any, kind: str) -> Any:
    """Return a value in the type of its column, NULL unchanged; raises `ValueError`."""
    if value is None or kind not in _MAKERS:
        return value
    try:
        return _MAKERS[kind](value)
    except (ValueError, TypeError, ArithmeticError):
        raise _refusal(name, value, kind) from None


def exact_text(name: str, text: str, kind: str) -> Any:
    """Return the value of an untyped text (a record's key or a folder's name) in a type."""
    pattern, make = _TEXTS.get(kind, ("(?s:.*)", str))
    if not re.fullmatch(pattern, text):
        raise _refusal(name, text, kind)
    return exact(name, make(text), kind)


def _refusal(name: str, value: Any, kind: str) -> ValueError:
    return ValueError(
        f"column {name} has {value!r:.100}, which is not a valid {kind}; write {_IF_WANTED[kind]}"
        " in the scenario's columns"
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(f"duplicate member: {', '.join(name for name, _ in pairs)}")
    return members


def _whole(bits: int, value: Any) -> int:
    if isinstance(value, bool) or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError
    return operator.index(value)


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
    return value if isinstance(value, str) else _as_text(value)


def _as_text(value: Any) -> str:
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
    if isinstance(value, plain):
        return _as_text(value)
    return json.dumps(str(value), ensure_ascii=False)


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
    "bigint": partial(_whole, 64),
    "int": partial(_whole, 32),
    "double": _double,
    "string": _text,
    "boolean": _truth,
    "timestamp": _moment,
    "binary": _bytes,
}


def cells_of(name: str, found: Any, kind: str, wanted: Any) -> Any:
    """Return a column in this Arrow type; raises `ValueError` if that would change values."""
    import pyarrow as pa

    if pa.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    if not (pa.types.is_null(found.type) or _is_held(found.type, kind)):
        raise ValueError(
            f"column {name} is {found.type}, expected {kind}; change the job, or write another"
            " type, or string, in the scenario's columns"
        )
    if kind == "double" and pa.types.is_decimal(found.type):
        return pa.array([exact(name, one, kind) for one in found.to_pylist()], wanted)
    if pa.types.is_timestamp(found.type) and pa.types.is_timestamp(wanted):
        found = found.cast(pa.timestamp("us", found.type.tz))  # Spark's are UTC without a zone
    return found.cast(wanted)


def _is_held(found: Any, kind: str) -> bool:
    """Whether Arrow casts this type to the kind without loss, or raises for the values it loses."""
    from pyarrow import types

    holds: Mapping[str, tuple[Callable[[Any], bool], ...]] = {
        "bigint": (types.is_integer,),
        "int": (types.is_integer,),
        "double": (types.is_integer, types.is_floating, types.is_decimal),
        "boolean": (types.is_boolean,),
        "timestamp": (types.is_timestamp, types.is_date),
    }
    return any(is_one(found) for is_one in holds.get(kind, (lambda _: True,)))


def batch_of(target: Target, rows: Iterable[Mapping[str, Any]], where: str) -> Any:
    """Return mappings as one Arrow record batch; a missing column is null.

    Raises `StackError` for a value that its column cannot hold exactly.
    """
    import pyarrow as pa

    found = list(rows)
    wanted = schema(target)
    if found and (missing := [one for one in target.key if all(one not in row for row in found)]):
        raise StackError(
            f"no row of {where} has the key {missing[0]}; its columns are {', '.join(found[0])}"
        )
    try:
        cells = [
            pa.array(
                [exact(name, plain(row.get(name)), kind) for row in found], wanted.field(name).type
            )
            for name, kind in target.columns.items()
        ]
    except (ValueError, TypeError, pa.ArrowException) as error:
        why = " ".join(str(error).split())
        raise StackError(f"{where} has a value that does not fit its column: {why}") from None
    return unsigned(cells, len(found), target)


def unsigned(cells: list[Any], rows: int, target: Target) -> Any:
    """Return cells as a record batch whose `_batch` and `_attempt` are null."""
    import pyarrow as pa

    return pa.record_batch([*cells, *(pa.nulls(rows, pa.int64()) for _ in WROTE)], schema(target))


def plain(value: Any) -> Any:
    """Return numpy's scalars and arrays as Python's own, other values unchanged."""
    return value.tolist() if type(value).__module__ == "numpy" else value
