"""The comparison of two places on one machine; it runs in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onceproof.comparison.columns import Plan, Request, match
from onceproof.comparison.on_duckdb.parquet import refuse_nanoseconds
from onceproof.comparison.places import SPARK_LOG, Files, PostgresTable, find_place
from onceproof.comparison.result import Result
from onceproof.database import open_database
from onceproof.errors import RequestError

# The memory of Python and its libraries, and of DuckDB's read buffers, which it does not count.
_BESIDE_BYTES = 140_000_000
_BESIDE_SHARE = 0.1
# Above it, an array of all buckets is faster than a table of the existing ones.
_FEW_BYTES = 1_000_000


def compare_on_duckdb(
    expected: str,
    observed: str,
    request: Request,
    memory_bytes: int,
    of_each: int,
    scratch: Path,
    progress: Callable[[str], None],
) -> tuple[Plan, Result]:
    """Compare two places; data that does not fit into memory goes to the scratch folder."""
    from onceproof.comparison.on_duckdb.sides import open_sides
    from onceproof.comparison.on_duckdb.steps import Side, find

    places = [
        _on_disk(side, given, scratch, progress)
        for side, given in (("expected", expected), ("observed", observed))
    ]
    with _opened(places, scratch, memory_bytes) as connection:
        opened = open_sides(connection, places[0], places[1], request, scratch)
        plan = match(opened[0].columns, opened[1].columns, request)
        for side, source in zip(("expected", "observed"), opened, strict=True):
            refuse_nanoseconds(side, source.files, plan)
        sides = Side("expected", opened[0], plan), Side("observed", opened[1], plan)
        return plan, find(connection, sides, memory_bytes, of_each, scratch, progress)


def _on_disk(side: str, given: str, scratch: Path, progress: Callable[[str], None]) -> Files:
    place = find_place(side, given)
    if isinstance(place, PostgresTable):
        from onceproof.comparison.on_duckdb.postgres import copy_to_parquet

        progress(f"copying {place.name}")
        target = scratch / f"{side}.parquet"
        copy_to_parquet(place, target)
        return Files(place.name, "parquet", (str(target),), str(scratch))
    if place.has_spark_log:
        raise RequestError(
            f"the {side} side {place.name} was written by a Spark stream, and only Spark reads "
            f"its {SPARK_LOG}; use --engine spark"
        )
    return place


@contextmanager
def _opened(places: list[Files], scratch: Path, memory_bytes: int) -> Iterator[Any]:
    import duckdb

    size = sum(Path(path).stat().st_size for place in places for path in place.paths)
    settings = {
        "memory_limit": f"{int(memory_bytes * (1 - _BESIDE_SHARE)) - _BESIDE_BYTES}B",
        "temp_directory": str(scratch / "spilled"),
        "preserve_insertion_order": False,
    }
    if size > _FEW_BYTES:
        settings["perfect_ht_threshold"] = 17  # so that buckets, numbers of 16 bits, are an array
    try:
        with open_database(settings) as connection:
            connection.execute("set TimeZone = 'UTC'; set enable_progress_bar = false")
            yield connection
    except duckdb.OutOfMemoryException as error:
        raise RequestError(
            f"{memory_bytes // 10**6} MB are not enough memory; raise --memory"
        ) from error
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        raise RequestError(f"the sides cannot be compared: {why}") from error
