"""What is lost, duplicated, unexpected and changed, by rows of a handful."""

import pytest

from onceproof.comparison import compare
from tests.unit.comparison.sides import counts, parquet


def rows(*pairs):
    return {"id": [one for one, _ in pairs], "v": [value for _, value in pairs]}


@pytest.mark.parametrize(
    ("expected", "observed", "found"),
    [
        ("1a 2b", "2b 1a", {}),
        ("1a 2b", "1a", {"lost": 1}),
        ("1a", "1a 1a 1a", {"duplicated": 2}),
        ("1a", "1a 2b 2b", {"unexpected": 2}),
        ("1a", "1b", {"changed": 1}),
        ("1a 1a", "1a 1a", {}),
        ("1a 1a", "1a", {"lost": 1}),
        ("1a 1a 1b", "1a 1b 1b", {"changed": 1}),
        ("1a 1b", "1b 1a", {}),
        ("1a", "1b 1b", {"changed": 1, "duplicated": 1}),
        ("1a 1a", "1b", {"changed": 1, "lost": 1}),
        ("1a", "1a 1b", {"duplicated": 1}),
        ("1a 2b 3c 4d", "1a 1a 3x 9z", {"lost": 2, "duplicated": 1, "unexpected": 1, "changed": 1}),
    ],
)
def test_rows_are_counted_by_class(tmp_path, expected, observed, found):
    sides = (
        rows(*((int(one[0]), one[1]) for one in text.split())) for text in (expected, observed)
    )
    assert counts(tmp_path, *sides) == found


@pytest.mark.parametrize(
    ("expected", "observed", "found"),
    [
        ([1, 1, 2], [1, 2, 1], {}),
        ([1, 1, 2], [1, 2, 2], {"lost": 1, "duplicated": 1}),
        ([1], [2], {"lost": 1, "unexpected": 1}),
        ([None], [None, None], {"duplicated": 1}),
    ],
)
def test_without_a_key_whole_rows_are_counted(tmp_path, expected, observed, found):
    assert counts(tmp_path, {"v": expected}, {"v": observed}, key=()) == found


def test_values_swapped_between_rows_are_changes(tmp_path):
    ids = list(range(3000))
    found = counts(tmp_path, {"id": ids, "v": ids}, {"id": ids, "v": ids[::-1]})
    assert found == {"changed": 3000}


def test_keys_are_columns_and_never_a_text(tmp_path):
    expected = {"a": ["x", "1", None], "b": ["yz", "2,3", "q"]}
    observed = {"a": ["xy", "1,2", "None"], "b": ["z", "3", "q"]}
    found = counts(tmp_path, expected, observed, key=["a", "b"])
    assert found == {"lost": 3, "unexpected": 3}


def test_a_null_key_is_a_key(tmp_path):
    expected = {"id": [None, None], "v": [1, 2]}
    assert counts(tmp_path, expected, {"id": [None], "v": [1]}) == {"lost": 1}
    assert counts(tmp_path, expected, {"id": [None, None], "v": [2, 1]}) == {}


def test_every_row_of_a_side_is_counted_once(tmp_path):
    expected = rows((1, "a"), (1, "b"), (2, "c"), (3, "d"), (3, "d"))
    observed = rows((1, "a"), (1, "x"), (1, "y"), (3, "d"), (4, "z"))
    sides = [parquet(tmp_path, name, side) for name, side in (("e", expected), ("o", observed))]
    found = compare(*sides, key=["id"]).counts
    matched = found["lost"], found["changed"], found["duplicated"] + found["unexpected"]
    assert matched == (2, 1, 2)
    assert 5 - found["lost"] - found["changed"] == 5 - found["changed"] - matched[2]


def test_columns_may_stand_in_another_order(tmp_path):
    expected = {"id": [1, 2], "a": [1, 2], "b": [2, 1]}
    observed = {"b": [2, 1], "id": [1, 2], "a": [1, 2]}
    assert counts(tmp_path, expected, observed) == {}


def test_an_ignored_column_may_differ_or_be_on_one_side_only(tmp_path):
    expected, observed = {"id": [1], "v": [1]}, {"id": [1], "v": [2], "_batch": [7]}
    assert counts(tmp_path, expected, observed, ignore=["v", "_batch"]) == {}


def test_awkward_names_of_columns_are_no_matter(tmp_path):
    expected = {'my "id"': [1], "h1": [1], "c0": [2], "sélect": ["a"], "bucket": [3]}
    observed = expected | {"bucket": [4]}
    assert counts(tmp_path, expected, observed, key=['my "id"']) == {"changed": 1}


@pytest.mark.thorough
def test_a_million_differences_are_counted_to_the_last(tmp_path):
    ids = list(range(300_000))
    other = list(range(150_000, 450_000))
    found = counts(tmp_path, {"id": ids}, {"id": other}, memory="250MB")
    assert found == {"lost": 150_000, "unexpected": 150_000}


def test_an_empty_side_is_a_side(tmp_path):
    expected, nothing = rows((1, "a"), (2, "b")), {"id": [], "v": []}
    types = {"id": "int64", "v": "string"}
    assert counts(tmp_path, expected, nothing, types=types) == {"lost": 2}
    assert counts(tmp_path, nothing, expected, types=types) == {"unexpected": 2}
    assert counts(tmp_path, nothing, nothing, types=types) == {}
