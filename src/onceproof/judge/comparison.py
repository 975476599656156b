"""The comparison as a function: two places in, one answer out."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.judge.columns import Request, match
from onceproof.judge.found import Differences, Found, samples_of, write_details
from onceproof.judge.places import SPARK_LOG, Files, PostgresTable, find_place

ENGINES = ("duckdb", "spark")
LEAST_MEMORY = 250_000_000
# What Python and its libraries take, and what DuckDB takes and does not count (its read buffers).
_BESIDE_BYTES = 140_000_000
_BESIDE_SHARE = 0.1
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _silent(_: str) -> None:
    pass


def compare(
    expected: Any,
    observed: Any,
    *,
    key: Sequence[str] = (),
    ignore: Sequence[str] = (),
    tolerance: Mapping[str, float] | None = None,
    memory: str = "1GB",
    engine: str = "duckdb",
    spark: Any = None,
    samples: int = 5,
    write_to: Path | None = None,
    write_of_each: int = 10_000,
    progress: Callable[[str], None] = _silent,
) -> Differences:
    """Say in which rows two multisets of rows differ.

    A side is what `onceproof diff` takes, or a DataFrame for the spark engine, whose session or
    master is `spark`. Without a key, whole rows are compared. `write_to` is a folder for
    `differences.parquet`: the first `write_of_each` differing keys of every class, and their rows.
    Raises `RequestError` for what cannot be compared.
    """
    began = time.monotonic()
    request = Request(tuple(key), tuple(ignore), tolerance or {})
    of_each = max(samples, write_of_each) if write_to else samples
    if engine not in ENGINES:
        raise RequestError(f"engine {engine!r} is not known: write {' or '.join(ENGINES)}")
    if engine == "spark":
        from onceproof.judge.spark_steps import compare_on_spark

        plan, found = compare_on_spark(expected, observed, request, spark, of_each, progress)
    else:
        plan, found = _on_duckdb(expected, observed, request, size_of(memory), of_each, progress)
    if write_to:
        write_details(found.details, write_to)
    shown = samples_of(found.details, samples)
    return Differences(found, plan.document(), shown, engine, time.monotonic() - began)


def size_of(memory: str) -> int:
    """Return a size as bytes, or raise `RequestError` if it is none or too small."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]i?B)", memory)
    if not parts:
        raise RequestError(f"memory {memory!r} is no size: write it as in 500MB or 2GB")
    size = int(float(parts[1]) * _UNITS[parts[2]])
    if size < LEAST_MEMORY:
        raise RequestError(f"memory {memory} is too little: give at least 250MB")
    return size


def _on_duckdb(
    expected: Any,
    observed: Any,
    request: Request,
    memory_bytes: int,
    of_each: int,
    progress: Callable[[str], None],
) -> tuple[Any, Found]:
    from onceproof.judge.duckdb_sides import open_sides
    from onceproof.judge.duckdb_steps import Side, find

    with tempfile.TemporaryDirectory(prefix="onceproof-diff-") as folder:
        scratch = Path(folder)
        places = [
            _on_disk(side, given, scratch, progress)
            for side, given in (("expected", expected), ("observed", observed))
        ]
        with _duckdb(scratch, memory_bytes) as connection:
            opened = open_sides(connection, places[0], places[1], request.tolerance, scratch)
            plan = match(opened[0].columns, opened[1].columns, request)
            sides = Side("expected", opened[0], plan), Side("observed", opened[1], plan)
            return plan, find(connection, sides, memory_bytes, of_each, scratch, progress)


def _on_disk(side: str, given: Any, scratch: Path, progress: Callable[[str], None]) -> Files:
    if not isinstance(given, str | os.PathLike):
        raise RequestError(
            f"the {side} side is a {type(given).__name__}: DuckDB reads files and tables, "
            "the spark engine takes DataFrames"
        )
    place = find_place(side, given)
    if isinstance(place, PostgresTable):
        from onceproof.judge.postgres import copy_to_parquet

        progress(f"copying {place.name}")
        target = scratch / f"{side}.parquet"
        copy_to_parquet(place, target)
        return Files(place.name, "parquet", (str(target),))
    if place.has_spark_log:
        raise RequestError(
            f"the {side} side {place.name} was written by a Spark stream, and only Spark reads in "
            f"its {SPARK_LOG} which files count: use --engine spark"
        )
    return place


@contextmanager
def _duckdb(scratch: Path, memory_bytes: int) -> Iterator[Any]:
    import duckdb

    settings = {
        "memory_limit": f"{int(memory_bytes * (1 - _BESIDE_SHARE)) - _BESIDE_BYTES}B",
        "temp_directory": str(scratch / "spilled"),
        "preserve_insertion_order": False,
        "perfect_ht_threshold": 17,  # so that buckets, numbers of 16 bits, are an array
        "autoinstall_known_extensions": False,
    }
    try:
        with duckdb.connect(config=settings) as connection:
            connection.execute("set TimeZone = 'UTC'; set enable_progress_bar = false")
            yield connection
    except duckdb.OutOfMemoryException as error:
        raise RequestError(
            f"{memory_bytes // 10**6} MB do not suffice: give --memory more"
        ) from error
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        raise RequestError(f"the sides cannot be compared: {said}") from error
