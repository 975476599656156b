"""Sides as files, of a few rows each."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from onceproof.comparison import compare
from onceproof.comparison import comparing as comparison
from onceproof.comparison.on_duckdb.engine import compare_on_duckdb


def in_this_process(monkeypatch):
    """Let `compare` call the engine, instead of a process that does."""

    def here(expected, observed, request, memory_bytes, of_each, progress):
        with tempfile.TemporaryDirectory() as folder:
            plan, found = compare_on_duckdb(
                expected, observed, request, memory_bytes, of_each, Path(folder), progress
            )
        return plan.document(), found

    monkeypatch.setattr(comparison, "compare_in_process", here)


def parquet(folder, name, columns, **types):
    """Write columns of Python values, of these Arrow types where given."""
    arrays = {one: pa.array(values, types.get(one)) for one, values in columns.items()}
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table(arrays), path)
    return path


def counts(folder, expected, observed, *, key=("id",), types=None, other=None, **options):
    """Compare two tables of columns; return the counts that are not zero."""
    types = types or {}
    ours = parquet(folder, "expected", expected, **types)
    theirs = parquet(folder, "observed", observed, **(types if other is None else other))
    found = compare(ours, theirs, key=key, **options)
    return {one: count for one, count in found.counts.items() if count}


def is_equal(folder, ours, theirs, kind=None, other=None):
    """Whether two values are equal to the judge, as a value and as a key; it must be the same."""
    types = {"v": kind} if kind else {}
    others = {"v": other} if other else types
    as_value = counts(
        folder, {"id": [1], "v": [ours]}, {"id": [1], "v": [theirs]}, types=types, other=others
    )
    as_key = counts(folder, {"v": [ours]}, {"v": [theirs]}, key=["v"], types=types, other=others)
    assert as_value in ({}, {"changed": 1})
    assert as_key in ({}, {"lost": 1, "unexpected": 1})
    assert bool(as_value) == bool(as_key)
    return not as_value
