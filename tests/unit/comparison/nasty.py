"""Nasty values of eighteen and more kinds, with the types that hold them and how text spells them.

A value is Python's own where that is exact; a time is a number of units since the epoch.
"""

import datetime as dt
import json
import math
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa

NAN, INF = float("nan"), float("inf")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAY_US = 86_400_000_000
TIMES = [0, -1, 1, 1_709_208_000_000_000, 1_709_208_000_000_001, 253_402_300_799_999_999, None]
WORDS = ["", "a", "a ", "A", "é", "e\u0301", "1", "1.0", "NULL", 'say "x", y', "two\nlines"]
DEEP = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.int32())), ("f", pa.float64())]))


@dataclass(frozen=True)
class Nasty:
    """A kind of column: its values, and the types of Arrow's that each hold all of them."""

    values: list
    types: list
    text: bool = True  # CSV can say it
    bare: bool = False  # JSON beside JSON has it
    json: bool = True  # JSON beside parquet has it
    unit: int = 0  # of a time, a second's
    zone: bool = False
    spark: bool = True
    more: dict = field(default_factory=dict)


KINDS = {
    "boolean": Nasty([True, False, None], [pa.bool_()], bare=True),
    "small": Nasty([0, 1, -1, 127, -128, None], [pa.int8(), pa.int16(), pa.int32()], bare=True),
    "integer": Nasty(
        [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -2930909409056394622, None],
        [pa.int64()],
        bare=True,
    ),
    "unsigned": Nasty([0, 1, 2**63, 2**64 - 1, None], [pa.uint64()], bare=True),
    "float": Nasty([0.0, -0.0, 0.5, 2.0**-149, NAN, INF, -INF, None], [pa.float32()]),
    "double": Nasty(
        [0.0, -0.0, 0.1, 0.3, 0.1 + 0.2, 5e-324, 1.7e308, 2.0**53, 1.0, NAN, INF, -INF, None],
        [pa.float64()],
    ),
    "number": Nasty([0.0, -0.0, 0.1, 0.1 + 0.2, 5e-324, 1e300, None], [pa.float64()], bare=True),
    "decimal": Nasty(
        [Decimal("0"), Decimal("-0.01"), Decimal("1.5"), Decimal("9999.99"), None],
        [pa.decimal128(9, 2), pa.decimal128(18, 3), pa.decimal128(25, 4)],
    ),
    "wide": Nasty(
        [Decimal(0), Decimal(1), Decimal(2**64), Decimal(10**38 - 1), Decimal(1 - 10**38), None],
        [pa.decimal128(38, 0)],
    ),
    "text": Nasty(
        [*WORDS, "abcdefg'hijklmn!", "abcdefg}hijklmn#", None],
        [pa.string(), pa.large_string()],
        bare=True,
    ),
    "binary": Nasty(
        [b"", b"\0", b"a", b"a\0", b"abcdefg'hijklmn!", b"abcdefg}hijklmn#", None],
        [pa.binary()],
        text=False,
        json=False,
    ),
    "date": Nasty(
        [dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
        [pa.date32()],
    ),
    "time": Nasty([0, 1, DAY_US - 1, None], [pa.time64("us")], text=False, json=False, spark=False),
    "timestamp": Nasty(TIMES, [pa.timestamp("us")], unit=10**6),
    "seconds": Nasty(
        [0, -(10**6), 1_709_208_000_000_000, None],
        [pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("s")],
        unit=10**6,
    ),
    "nanoseconds": Nasty(
        [0, 1, -1, 1_709_208_000_000_000_001, 2**62, None],
        [pa.timestamp("ns")],
        unit=10**9,
        spark=False,
    ),
    "instant": Nasty(
        TIMES, [pa.timestamp("us", "UTC"), pa.timestamp("us", "Asia/Tokyo")], unit=10**6, zone=True
    ),
    "int96": Nasty(TIMES, [pa.timestamp("us", "UTC")], unit=10**6, zone=True),
    "list": Nasty(
        [[], [None], [1], [1, 2], [2, 1], [None, None], None],
        [pa.list_(pa.int32()), pa.list_(pa.int64())],
        text=False,
        bare=True,
    ),
    "struct": Nasty(
        [
            {"a": 0.0, "b": []},
            {"a": -0.0, "b": []},
            {"a": None, "b": None},
            {"a": 1.5, "b": ["x", None]},
            {"a": 1.5, "b": ["X"]},
            None,
        ],
        [pa.struct([("a", pa.float64()), ("b", pa.list_(pa.string()))])],
        text=False,
        bare=True,
    ),
    "map": Nasty(
        [{}, {"x": 1}, {"x": None}, {"x": 1, "y": 2}, {"y": 2, "x": 1}, {"y": 1}, None],
        [pa.map_(pa.string(), pa.int32())],
        text=False,
    ),
    "deep": Nasty(
        [[], [{"m": {"a": 1, "b": 2}, "f": NAN}], [{"m": {"b": 2, "a": 1}, "f": NAN}], None],
        [DEEP],
        text=False,
    ),
}


def array(kind, values, native):
    """Values as an Arrow array of this type."""
    nasty = KINDS[kind]
    if nasty.unit and native.unit != {10**6: "us", 10**9: "ns"}[nasty.unit]:
        wide = pa.array(values, pa.timestamp("us"))
        return wide.cast(native)
    if pa.types.is_nested(native):
        return pa.array([_entries(value, native) for value in values], native)
    return pa.array(values, native)


def _entries(value, native):
    """A value in which maps are lists of entries, as Arrow takes them."""
    if value is None:
        return None
    if pa.types.is_map(native):
        return list(value.items())
    if pa.types.is_struct(native):
        return {one.name: _entries(value[one.name], one.type) for one in native}
    if pa.types.is_list(native):
        return [_entries(one, native.value_type) for one in value]
    return value


def csv_cell(kind, value):
    """A value as CSV spells it; text is always quoted, so that only NULL is nothing."""
    said = spelled(kind, value)
    if said is None:
        return ""
    quote = '"'
    return f'"{said.replace(quote, quote * 2)}"' if kind == "text" else said


def json_cell(kind, value):
    """A value as JSON spells it."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}[str(value)]
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list):
        return f"[{', '.join(json_cell('', one) for one in value)}]"
    if isinstance(value, dict):
        inner = (f"{json.dumps(name)}: {json_cell('', one)}" for name, one in value.items())
        return f"{{{', '.join(inner)}}}"
    is_named = isinstance(value, dt.date) or (kind and KINDS[kind].unit and value is not None)
    return json.dumps(spelled(kind, value) if is_named else value)


def spelled(kind, value):
    """A value as text, or None."""
    if value is None:
        return None
    nasty = KINDS[kind]
    if nasty.unit:
        seconds, rest = divmod(value, nasty.unit)
        at = EPOCH + dt.timedelta(seconds=seconds)
        digits = len(str(nasty.unit)) - 1
        zone = "Z" if nasty.zone else ""
        return f"{at.replace(tzinfo=None).isoformat()}.{rest:0{digits}}{zone}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
