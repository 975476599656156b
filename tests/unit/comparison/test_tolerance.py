"""How near is near enough: by column, for numbers, between rows of one key."""

from decimal import Decimal

import pyarrow as pa
import pytest

from onceproof.comparison import compare
from onceproof.errors import RequestError
from tests.unit.comparison.sides import counts, parquet

NAN, INF = float("nan"), float("inf")


def near(folder, ours, theirs, allowed, kind=None):
    expected, observed = {"id": [1] * len(ours), "v": ours}, {"id": [1] * len(theirs), "v": theirs}
    types = {"v": kind or pa.float64()}
    return counts(folder, expected, observed, types=types, tolerance={"v": allowed})


@pytest.mark.parametrize(
    ("ours", "theirs", "allowed", "kind"),
    [
        (1.0, 1.0 + 1e-10, 1e-9, None),
        (1.0, 1.5, 0.5, None),
        (INF, INF, 0, None),
        (NAN, NAN, 0, None),
        (None, None, 1, None),
        (-0.0, 0.0, 0, None),
        (10, 12, 2, pa.int64()),
        (-(2**63), 2**63 - 1, 1e20, pa.int64()),
        (Decimal("1.1"), Decimal("1.0"), 0.1, pa.decimal128(10, 1)),
    ],
)
def test_these_are_near(tmp_path, ours, theirs, allowed, kind):
    assert near(tmp_path, [ours], [theirs], allowed, kind) == {}


@pytest.mark.parametrize(
    ("ours", "theirs", "allowed", "kind"),
    [
        (1.0, 1.0 + 1e-8, 1e-9, None),
        (1.0, None, 1e9, None),
        (1.0, NAN, 1e9, None),
        (1.0, INF, 1e9, None),
        (-INF, INF, 1e9, None),
        (10, 13, 2, pa.int64()),
        (2**53, 2**53 + 1, 0.5, pa.int64()),
    ],
)
def test_these_are_not(tmp_path, ours, theirs, allowed, kind):
    assert near(tmp_path, [ours], [theirs], allowed, kind) == {"changed": 1}


def test_near_rows_of_one_key_are_matched_one_to_one(tmp_path):
    assert near(tmp_path, [1.0, 2.0, 3.0], [2.01, 3.01], 0.1) == {"lost": 1}
    assert near(tmp_path, [1.0], [1.01, 1.02], 0.1) == {"duplicated": 1}
    assert near(tmp_path, [1.0, 5.0], [5.01, 7.0], 0.1) == {"changed": 1}


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ([0.0, 1.0, 2.0], [2.0, 2.0, 2.0], {"changed": 1}),
        ([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 3.0, 3.0], {}),
        ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0], {}),
        ([0.0], [1.0, 2.0], {"duplicated": 1}),
        ([0.0, 1.0, 2.0], [0.0], {"lost": 2}),
        ([0.0, 0.0, 1.0], [1.0, 2.0, 2.0], {"changed": 1}),
        ([1.0, 2.0, 3.0], [2.0, 3.0], {"lost": 1}),
    ],
)
@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.decimal128(9, 2)])
def test_a_chain_of_near_values_is_no_nearness_of_its_ends(tmp_path, ours, theirs, found, kind):
    made = [list(map(int, one)) if kind != pa.float64() else one for one in (ours, theirs)]
    made = [list(map(Decimal, one)) if pa.types.is_decimal(kind) else one for one in made]
    assert near(tmp_path, *made, 1, kind) == found
    assert near(tmp_path, made[1], made[0], 1, kind).get("changed") == found.get("changed")


def test_a_chain_in_one_column_is_paired_by_it_for_any_other_values(tmp_path):
    expected = {"id": [1] * 3, "v": [0.00, 0.01, 0.02], "w": [0.0, 1.0, 2.0]}
    observed = {"id": [1] * 3, "v": [0.02, 0.01, 0.00], "w": [0.0, 1.0, 2.0]}
    near_both = {"tolerance": {"v": 0.1, "w": 1}}
    assert counts(tmp_path, expected, observed, **near_both) == {}
    other = observed | {"w": [2.0, 2.0, 2.0]}
    assert counts(tmp_path, expected, other, **near_both) == {"changed": 1}


def test_rows_whose_ends_are_apart_are_shown_with_their_key(tmp_path):
    types = {"expected": [0.0, 1.0, 2.0], "observed": [2.0, 2.0, 2.0]}
    sides = [parquet(tmp_path, one, {"id": [1] * 3, "v": v}) for one, v in types.items()]
    (shown,) = compare(*sides, key=["id"], tolerance={"v": 1}).samples
    assert (shown["class"], shown["rows"]) == ("changed", 1)
    assert {0.0} <= {row["v"] for row in shown["expected"]}
    assert {2.0} == {row["v"] for row in shown["observed"]}


def test_a_null_stays_equal_to_a_null_where_others_of_its_key_differ(tmp_path):
    assert near(tmp_path, [None, None, 1.0], [None, None, 9.0], 0.1) == {"changed": 1}
    assert near(tmp_path, [NAN, 1.0], [NAN, None], 0.1) == {"changed": 1}


def test_other_columns_stay_exact(tmp_path):
    expected = {"id": [1, 2], "v": [1.0, 1.0], "w": [1.0, 1.0]}
    observed = {"id": [1, 2], "v": [1.05, 1.05], "w": [1.0, 1.05]}
    assert counts(tmp_path, expected, observed, tolerance={"v": 0.1}) == {"changed": 1}
    assert counts(tmp_path, expected, observed, tolerance={"v": 0.1, "w": 0.1}) == {}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": {"x": 1}}, "--tolerance: unknown column 'x'"),
        ({"tolerance": {"id": 1}}, "names a key or an ignored column"),
        ({"tolerance": {"s": 1}}, "is for numbers"),
        ({"tolerance": {"v": -1}}, "v -1 is out of range"),
        ({"tolerance": {"v": NAN}}, "v nan is out of range"),
        ({"tolerance": {"v": 1}, "key": ()}, "needs a key"),
    ],
)
def test_a_tolerance_that_means_nothing_is_refused(tmp_path, options, words):
    side = {"id": [1], "v": [1.0], "s": ["a"]}
    with pytest.raises(RequestError, match=words):
        counts(tmp_path, side, side, **options)
