"""The judge says what a naive comparison in pandas says, on generated pairs and on small ones."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onceproof.comparison import compare
from onceproof.comparison.on_duckdb import steps as duckdb_steps
from tests.unit.comparison import pairs
from tests.unit.comparison.oracle import CLASSES, differences

PAIRS = 1000


@pytest.mark.parametrize("rows_at_once", [10**9, 2000])
def test_a_thousand_generated_pairs_are_judged_as_the_oracle_judges_them(
    tmp_path, monkeypatch, rows_at_once
):
    monkeypatch.setattr(duckdb_steps, "_FEWEST_ROWS", rows_at_once)
    monkeypatch.setattr(duckdb_steps, "_BYTES_A_ROW", 10**9)
    expected, observed = pairs.tables(PAIRS)
    paths = tmp_path / "e.parquet", tmp_path / "o.parquet"
    for table, path in zip((expected, observed), paths, strict=True):
        pq.write_table(table, path)
    found = compare(*paths, key=pairs.KEY, write_to=tmp_path / "d", write_of_each=10**6)
    details = pairs.by_key(pq.read_table(tmp_path / "d/differences.parquet"))
    truth = differences(pairs.frame(expected), pairs.frame(observed), pairs.KEY)
    assert len(truth) > 500
    assert details == truth
    totals = {one: sum(key[one] for key in truth.values()) for one in CLASSES}
    assert dict(found.counts) == totals


def test_near_values_are_judged_as_the_oracle_judges_them(tmp_path):
    expected, observed = pairs.tables(300)
    near = {"number": 1.5, "amount": 0.01}
    for name, table in (("e", expected), ("o", observed)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    sides = tmp_path / "e.parquet", tmp_path / "o.parquet"
    options = {"write_to": tmp_path / "d", "write_of_each": 10**6}
    compare(*sides, key=["pair"], ignore=["id", "part"], tolerance=near, **options)
    details = pq.read_table(tmp_path / "d/differences.parquet")
    frames = [pairs.frame(one.drop_columns(["id", "part"])) for one in (expected, observed)]
    truth = differences(*frames, ["pair"], near)
    assert pairs.by_key(details, ["pair"]) == truth


small = st.lists(
    st.tuples(st.integers(0, 3) | st.none(), st.sampled_from(["", "a", "b", None])), max_size=8
)


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(small, small, st.booleans())
def test_any_two_sides_are_judged_as_the_oracle_judges_them(
    tmp_path_factory, ours, theirs, has_key
):
    folder = tmp_path_factory.mktemp("sides")
    schema = pa.schema([("id", pa.int32()), ("v", pa.string())])
    tables = [
        pa.Table.from_pylist([{"id": one, "v": value} for one, value in rows], schema)
        for rows in (ours, theirs)
    ]
    for name, table in zip("eo", tables, strict=True):
        pq.write_table(table, folder / f"{name}.parquet")
    key = ["id"] if has_key else []
    found = compare(folder / "e.parquet", folder / "o.parquet", key=key, samples=0)
    truth = differences(*map(pairs.frame, tables), key or ["id", "v"])
    assert dict(found.counts) == {one: sum(k[one] for k in truth.values()) for one in CLASSES}


numbers = st.lists(st.integers(0, 5).map(float) | st.none(), min_size=3, max_size=5)


@pytest.mark.thorough
@settings(max_examples=50, deadline=None)
@given(numbers, numbers)
def test_chains_of_near_values_are_equal_only_if_the_oracle_can_pair_them(
    tmp_path_factory, ours, theirs
):
    folder = tmp_path_factory.mktemp("sides")
    schema = pa.schema([("id", pa.int32()), ("v", pa.float64())])
    tables = [
        pa.Table.from_pylist([{"id": 1, "v": value} for value in side], schema)
        for side in (ours, theirs)
    ]
    for name, table in zip("eo", tables, strict=True):
        pq.write_table(table, folder / f"{name}.parquet")
    near = {"v": 1.0}
    found = compare(folder / "e.parquet", folder / "o.parquet", key=["id"], tolerance=near)
    truth = differences(*map(pairs.frame, tables), ["id"], near)
    totals = {one: sum(k[one] for k in truth.values()) for one in CLASSES}
    assert found.equal == (not truth)
    assert {**found.counts, "changed": 0} == {**totals, "changed": 0}
    assert found.counts["changed"] >= totals["changed"]
