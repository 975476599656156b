"""Which values are equal: each awkward one decided, as a value and as a key."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from onceproof.errors import RequestError
from tests.unit.comparison.sides import counts, is_equal

NAN, INF = float("nan"), float("inf")
NOON = dt.datetime.fromisoformat("2024-02-29T12:00")
MAP = pa.map_(pa.string(), pa.int32())
DEEP = pa.list_(pa.struct([("m", MAP), ("f", pa.float64())]))


@pytest.mark.parametrize(
    ("ours", "theirs", "kind", "other"),
    [
        (None, None, pa.int32(), None),
        (NAN, NAN, pa.float64(), None),
        (NAN, -NAN, pa.float32(), None),
        (0.0, -0.0, pa.float64(), None),
        ([0.0], [-0.0], pa.list_(pa.float64()), None),
        (5, 5, pa.int8(), pa.int64()),
        (-1, -1, pa.int32(), pa.int64()),
        (2**63, 2**63, pa.uint64(), None),
        (1, 1, pa.uint64(), pa.int8()),
        (Decimal("1.0"), Decimal("1.000"), pa.decimal128(5, 1), pa.decimal128(30, 3)),
        (0.5, 0.5, pa.float32(), pa.float64()),
        (NOON, NOON, pa.timestamp("ms"), pa.timestamp("ns")),
        (NOON, NOON, pa.timestamp("us", "UTC"), pa.timestamp("ms", "Asia/Tokyo")),
        ({"a": 1, "b": "x"}, {"b": "x", "a": 1}, None, None),
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], MAP, None),
        (
            [{"m": [("a", 1), ("b", 2)], "f": -0.0}],
            [{"m": [("b", 2), ("a", 1)], "f": 0.0}],
            DEEP,
            None,
        ),
        ("a", "a", pa.string(), pa.large_string()),
        ("a", "a", pa.dictionary(pa.int32(), pa.string()), pa.string()),
    ],
)
def test_these_are_equal(tmp_path, ours, theirs, kind, other):
    assert is_equal(tmp_path, ours, theirs, kind, other)


@pytest.mark.parametrize(
    ("ours", "theirs", "kind", "other"),
    [
        (None, 0, pa.int32(), None),
        (None, "", pa.string(), None),
        (None, "NULL", pa.string(), None),
        (None, NAN, pa.float64(), None),
        (None, False, pa.bool_(), None),
        (None, [], pa.list_(pa.int32()), None),
        ([], [None], pa.list_(pa.int32()), None),
        ([None], [None, None], pa.list_(pa.int32()), None),
        ([1, 2], [2, 1], pa.list_(pa.int32()), None),
        ([[1], []], [[], [1]], pa.list_(pa.list_(pa.int32())), None),
        (None, {"a": None}, pa.struct([("a", pa.int32())]), None),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}, None, None),
        ([("a", 1)], [("a", None)], MAP, None),
        ([], None, MAP, None),
        ("1", "1.0", pa.string(), None),
        ("a", "a ", pa.string(), None),
        ("a", "A", pa.string(), None),
        ("\u00e9", "e\u0301", pa.string(), None),
        (b"a", b"a\0", pa.binary(), None),
        (NAN, INF, pa.float64(), None),
        (0.1, 0.1, pa.float32(), pa.float64()),
        (NOON, NOON + dt.timedelta(microseconds=1), pa.timestamp("us"), None),
        (1, 1_001, pa.timestamp("us"), pa.timestamp("ns")),
        (NOON.replace(tzinfo=dt.UTC), NOON, pa.timestamp("us", "UTC"), None),
        (Decimal("1.00"), Decimal("1.01"), pa.decimal128(30, 2), None),
    ],
)
def test_these_differ(tmp_path, ours, theirs, kind, other):
    if isinstance(theirs, dt.datetime) and isinstance(ours, dt.datetime) and ours.tzinfo:
        theirs = theirs.replace(tzinfo=dt.timezone(dt.timedelta(hours=9)))
    assert not is_equal(tmp_path, ours, theirs, kind, other)


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        # DuckDB's hash of these pairs is the same.
        ("abcdefg'hijklmn!", "abcdefg}hijklmn#", pa.string()),
        (b"abcdefg'hijklmn!", b"abcdefg}hijklmn#", pa.binary()),
        (Decimal("0.00"), Decimal("-0.01"), pa.decimal128(20, 2)),
        (Decimal(1), Decimal(2**64), pa.decimal128(38, 0)),
        (None, -2930909409056394622, pa.int64()),
        (["abcdefg'hijklmn!"], ["abcdefg}hijklmn#"], pa.list_(pa.string())),
    ],
)
def test_values_that_the_engines_own_hash_confuses_are_distinguished(tmp_path, ours, theirs, kind):
    assert not is_equal(tmp_path, ours, theirs, kind)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        (pa.int64(), pa.string()),
        (pa.int64(), pa.float64()),
        (pa.int64(), pa.decimal128(10, 0)),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us"), pa.date32()),
        (pa.struct([("a", pa.int32())]), pa.struct([("b", pa.int32())])),
        (pa.decimal128(38, 0), pa.decimal128(38, 38)),
        (pa.list_(pa.int32()), pa.list_(pa.string())),
    ],
)
def test_columns_of_two_kinds_are_an_error_that_names_the_column(tmp_path, kind, other):
    with pytest.raises(RequestError, match=r"\bv\b.*--ignore.v"):
        counts(
            tmp_path,
            {"id": [1], "v": [None]},
            {"id": [1], "v": [None]},
            types={"v": kind},
            other={"v": other},
        )


def test_a_time_that_no_nanosecond_can_hold_is_an_error_and_not_a_difference(tmp_path):
    early = {"id": [1], "v": [dt.datetime.fromisoformat("1000-01-01")]}
    late = {"id": [1], "v": [dt.datetime.fromisoformat("2000-01-01")]}
    with pytest.raises(RequestError, match=r"\bcompared\b"):
        counts(
            tmp_path, early, late, types={"v": pa.timestamp("us")}, other={"v": pa.timestamp("ns")}
        )
