"""The exact conversion of JSON values to a kind; inexact values are refused."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onceproof.comparison.folders import unreadable
from onceproof.comparison.json_lines import JsonLines, Number, refusal
from onceproof.comparison.kinds import NOTHING, Kind, is_held

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 20_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d+))?)?"
    r"(?: ?(Z|UTC|[+-]\d{2}(?::\d{2})?))?",
    re.ASCII,
)


class Unfit(ValueError):
    """A value that does not fit its kind."""


def is_castable(kind: Kind) -> bool:
    """Whether JSON can be read as the kind."""
    return kind.name not in ("binary", "time") and all(is_castable(part) for _, part in kind.parts)


def write_parquet(source: JsonLines, kinds: Mapping[str, Kind], target: Path) -> None:
    """Write all rows as parquet, every member as its kind, or raise `RequestError`.

    Values that are never compared are written as text.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    schema = pa.schema(
        [(name, pa.string() if refusal(kind) else _arrow(kind)) for name, kind in kinds.items()]
    )
    rows = source.lines()
    with parquet.ParquetWriter(target, schema) as writer:
        while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            cells = [_cells(source, some, name, kind, schema) for name, kind in kinds.items()]
            writer.write_batch(pa.record_batch(cells, schema=schema))


def _cells(source: JsonLines, rows: Any, name: str, kind: Kind, schema: Any) -> Any:
    import pyarrow as pa

    try:
        if refusal(kind):
            cells = [json.dumps(row[name]) if name in row else None for row in rows]
        else:
            cells = [as_kind(row.get(name), kind) for row in rows]
        return pa.array(cells, schema.field(name).type)
    except (Unfit, pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        why = " ".join(str(error).split())
        raise unreadable(source.side, source.files, f"in column {name}, {why}") from None


def as_kind(value: Any, kind: Kind) -> Any:
    """Return a JSON value in Arrow's form for this kind, or raise `Unfit`."""
    if value is None:
        return None
    found = _READ[kind.name](value, kind) if kind.name in _READ else None
    if found is None:
        text = value if type(value) is Number else json.dumps(value)
        raise Unfit(f"{kind} cannot hold {text} exactly")
    return found


def _text(value: Any, _: Kind) -> Any:
    return value if type(value) is str else None


def _boolean(value: Any, _: Kind) -> Any:
    return value if type(value) is bool else None


def _integer(value: Any, kind: Kind) -> Any:
    is_unsigned = kind.digits % 8
    bits = kind.digits - (1 if is_unsigned else 0)
    low, high = (0, 2**bits) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return value if type(value) is int and low <= value < high else None


def _decimal(value: Any, kind: Kind) -> Any:
    if type(value) not in (int, Number):
        return None
    number = Decimal(value)
    sign, digits, exponent = number.as_tuple()
    is_large = number and number.adjusted() >= kind.digits - kind.scale
    if is_large or not isinstance(exponent, int):
        return None
    kept = list(digits)
    while kept[1:] and not kept[-1]:
        kept.pop()
        exponent += 1
    return Decimal((sign, tuple(kept), exponent)) if -exponent <= kind.scale else None


def _floating(value: Any, kind: Kind) -> Any:
    if value in _NO_NUMBERS and type(value) is str:  # as Spark and others write them
        return float(value)
    if type(value) not in (int, Number) or not is_held(str(value), kind.digits):
        return None
    return float(value)


def _date(value: Any, _: Kind) -> Any:
    found = _INSTANT.fullmatch(value) if type(value) is str else None
    try:
        is_day = found and not any(found.groups()[1:])
        return dt.date.fromisoformat(found[1]) if found and is_day else None
    except ValueError:
        return None


def _time(value: Any, kind: Kind) -> Any:
    """Return the units since the epoch; text without an offset is UTC where the kind has zones."""
    found = _INSTANT.fullmatch(value) if type(value) is str else None
    if not found or (found[4] and kind.name == "timestamp"):
        return None
    fraction, offset = (found[3] or "").rstrip("0"), (found[4] or "Z").replace("UTC", "Z")
    try:
        at = dt.datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}{offset}")
    except ValueError:
        return None
    if len(fraction) > kind.digits:
        return None
    seconds = (at - _EPOCH) // dt.timedelta(seconds=1)
    return seconds * 10**kind.digits + int(fraction.ljust(kind.digits, "0") or 0)


def _list(value: Any, kind: Kind) -> Any:
    element = kind.parts[0][1]
    return [as_kind(item, element) for item in value] if type(value) is list else None


def _struct(value: Any, kind: Kind) -> Any:
    if type(value) is not dict or value.keys() - dict(kind.parts).keys():
        return None
    return {name: as_kind(value.get(name), part) for name, part in kind.parts}


def _map(value: Any, kind: Kind) -> Any:
    (_, key), (_, held) = kind.parts
    if type(value) is not dict or key.name != "text":
        return None
    return [(name, as_kind(one, held)) for name, one in value.items()]


_READ = {
    "text": _text,
    "boolean": _boolean,
    "integer": _integer,
    "decimal": _decimal,
    "floating": _floating,
    "date": _date,
    "timestamp": _time,
    "instant": _time,
    "list": _list,
    "struct": _struct,
    "map": _map,
}


def _arrow(kind: Kind) -> pa.DataType:
    import pyarrow as pa

    if kind == NOTHING:
        return pa.null()
    if kind.name == "integer":
        sign = "u" if kind.digits % 8 else ""
        return getattr(pa, f"{sign}int{kind.digits - (1 if sign else 0)}")()
    if kind.name == "decimal":
        return pa.decimal128(kind.digits, kind.scale)
    if kind.name in ("timestamp", "instant"):
        unit = "ns" if kind.digits == 9 else "us"
        return pa.timestamp(unit, "UTC" if kind.name == "instant" else None)
    if kind.name == "list":
        return pa.list_(_arrow(kind.parts[0][1]))
    if kind.name == "map":
        return pa.map_(*(_arrow(part) for _, part in kind.parts))
    if kind.name == "struct":
        return pa.struct([(name, _arrow(part)) for name, part in kind.parts])
    flat = {"text": pa.string, "boolean": pa.bool_, "date": pa.date32}
    return pa.float32() if kind == Kind("floating", 32) else flat.get(kind.name, pa.float64)()
