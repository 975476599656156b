"""Pairs of sides, generated: a table of awkward values, and what a bad pipeline makes of it."""

import datetime as dt
from decimal import Decimal
from random import Random

import pandas as pd
import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("pair", pa.int32()),
        ("id", pa.int64()),
        ("part", pa.string()),
        ("number", pa.float64()),
        ("amount", pa.decimal128(20, 2)),
        ("words", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("items", pa.list_(pa.int32())),
        ("inner", pa.struct([("a", pa.float64()), ("b", pa.list_(pa.string()))])),
        ("tags", pa.map_(pa.string(), pa.int32())),
    ]
)
KEY = ["pair", "id", "part"]
NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
VALUES = {
    "id": [0, 1, 2, 3, -2930909409056394622, None],
    "part": ["a", "a ", "A", "", None],
    "number": [0.0, -0.0, 1.5, 3.0, float("nan"), float("inf"), None],
    "amount": [Decimal("0.00"), Decimal("-0.01"), Decimal("184467440737095516.16"), None],
    "words": ["abcdefg'hijklmn!", "abcdefg}hijklmn#", "1", "1.0", "NULL", "", None],
    "at": [NOON, NOON + dt.timedelta(microseconds=1), None],
    "items": [[], [None], [1, 2], [2, 1], None],
    "inner": [{"a": 0.0, "b": []}, {"a": -0.0, "b": []}, {"a": None, "b": None}, None],
    "tags": [[], [("x", 1), ("y", 2)], [("y", 2), ("x", 1)], [("x", None)], None],
}


def pair(number: int) -> tuple[list[dict], list[dict]]:
    """The rows of one pair: what was expected, and that with a few things gone wrong."""
    rng = Random(number)
    expected = [row(number, rng) for _ in range(rng.randrange(9))]
    observed = [dict(one) for one in expected]
    for _ in range(rng.randrange(4)):
        spoil(observed, number, rng)
    rng.shuffle(observed)
    return expected, observed


def row(number: int, rng: Random) -> dict:
    return {"pair": number} | {name: rng.choice(values) for name, values in VALUES.items()}


def spoil(rows: list[dict], number: int, rng: Random) -> None:
    kind = rng.choice(["lose", "repeat", "add", "change"])
    if kind == "add" or not rows:
        rows.append(row(number, rng))
    elif kind == "lose":
        rows.pop(rng.randrange(len(rows)))
    elif kind == "repeat":
        rows.append(dict(rng.choice(rows)))
    else:
        name = rng.choice([one for one in VALUES if one not in KEY])
        rng.choice(rows)[name] = rng.choice(VALUES[name])


def tables(count: int) -> tuple[pa.Table, pa.Table]:
    """Many pairs in one table a side, distinguished by the pair's number."""
    both = [pair(number) for number in range(count)]
    sides = ([row for one in both for row in one[side]] for side in (0, 1))
    expected, observed = (pa.Table.from_pylist(rows, SCHEMA) for rows in sides)
    return expected, observed


def frame(table: pa.Table) -> pd.DataFrame:
    """The table with Python's own values, which pandas would bend."""
    columns = {name: table[name].to_pylist() for name in table.column_names}
    if "tags" in columns:
        columns["tags"] = [None if one is None else dict(one) for one in columns["tags"]]
    return pd.DataFrame({name: pd.Series(of, dtype=object) for name, of in columns.items()})


def by_key(details: pa.Table, key: list[str] = KEY) -> dict:
    """The details of a comparison as counts of each class by key, as the oracle has them."""
    from tests.unit.comparison.oracle import CLASSES, plain

    found: dict = {}
    for one in details.to_pylist():
        values = tuple(plain(one["key"][name]) for name in key)
        found.setdefault(values, dict.fromkeys(CLASSES, 0))[one["class"]] = one["rows"]
    return found
