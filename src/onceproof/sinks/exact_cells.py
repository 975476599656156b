"""Values as they were written, by whomever, in the type of the column that is compared.

A type holds a value exactly, or refuses it: what would be cut or guessed at is an error, since a
comparison of what was made of it could call wrong rows right. Text alone takes any value: a number
by its digits, true and false by their names, what is nested as its JSON. Columns of Arrow are held
to the same, which casts a truth or a moment to a number without a word, and rounds a decimal to a
double.
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
    "bigint": partial(_whole, 64),
    "int": partial(_whole, 32),
    "double": _double,
    "string": _text,
    "boolean": _truth,
    "timestamp": _moment,
    "binary": _bytes,
}


def cells_of(name: str, found: Any, kind: str, wanted: Any) -> Any:
    """Return a column as this type of Arrow's; raises `ValueError` where that would bend values."""
    import pyarrow as pa

    if pa.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    if not (pa.types.is_null(found.type) or _is_held(found.type, kind)):
        raise ValueError(
            f"column {name} is {found.type}, and {kind} is expected: let the job write it as that,"
            " or write another type, or string, into the scenario's columns"
        )
    if kind == "double" and pa.types.is_decimal(found.type):
        return pa.array([exact(name, one, kind) for one in found.to_pylist()], wanted)
    if pa.types.is_timestamp(found.type) and pa.types.is_timestamp(wanted):
        found = found.cast(pa.timestamp("us", found.type.tz))  # Spark's own are UTC, unsaid
    return found.cast(wanted)


def _is_held(found: Any, kind: str) -> bool:
    """Whether a type takes values of another to the last digit, or else Arrow refuses them."""
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
    """Return mappings as one batch of Arrow; what a row has not is null.

    Raises `StackError` for a value that its column does not hold exactly.
    """
    import pyarrow as pa

    found = list(rows)
    wanted = schema(target)
    if found and (missing := [one for one in target.key if all(one not in row for row in found)]):
        raise StackError(
            f"no row of {where} has the key {missing[0]}: they have {', '.join(found[0])}"
        )
    try:
        cells = [
            pa.array(
                [exact(name, _plain(row.get(name)), kind) for row in found], wanted.field(name).type
            )
            for name, kind in target.columns.items()
        ]
    except (ValueError, TypeError, pa.ArrowException) as error:
        said = " ".join(str(error).split())
        raise StackError(f"{where} holds a value that does not fit its column: {said}") from None
    return unsigned(cells, len(found), target)


def unsigned(cells: list[Any], rows: int, target: Target) -> Any:
    """Return cells as a batch of rows of which nobody knows who wrote them."""
    import pyarrow as pa

    return pa.record_batch([*cells, *(pa.nulls(rows, pa.int64()) for _ in WROTE)], schema(target))


def _plain(value: Any) -> Any:
    """Return what numpy holds as Python's own."""
    return value.tolist() if type(value).__module__ == "numpy" else value
