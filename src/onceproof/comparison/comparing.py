"""The comparison as a function of two places."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onceproof.comparison.columns import Request
from onceproof.comparison.engine_process import compare_in_process
from onceproof.comparison.result import Differences, Result, samples_of, write_details
from onceproof.errors import RequestError, invalid, out_of_range, unknown

ENGINES = ("duckdb", "spark")
LEAST_MEMORY = 250_000_000
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
    """Return the differences between two multisets of rows.

    A side is what `onceproof diff` accepts, or a DataFrame for the spark engine, whose session or
    master is `spark`. Without a key, whole rows are compared. `write_to` is a folder for
    `differences.parquet`: the first `write_of_each` differing keys of every class, and their rows.
    Raises `RequestError` for what cannot be compared, and `EngineError` if DuckDB crashes: it runs
    in a process of its own.
    """
    began = time.monotonic()
    request = Request(tuple(key), tuple(ignore), tolerance or {})
    of_each = max(samples, write_of_each) if write_to else samples
    if engine not in ENGINES:
        raise RequestError(unknown("engine", engine, ENGINES))
    if engine == "spark":
        from onceproof.comparison.on_spark.steps import compare_on_spark

        plan, found = compare_on_spark(expected, observed, request, spark, of_each, progress)
        columns: Mapping[str, object] = plan.document()
    else:
        size = size_of(memory)
        columns, found = _on_duckdb(expected, observed, request, size, of_each, progress)
    if write_to:
        write_details(found.details, write_to)
    return Differences(found, columns, _samples(found, samples), engine, time.monotonic() - began)


def _samples(found: Result, samples: int) -> list[dict[str, Any]]:
    try:
        return samples_of(found.details, samples)
    except UnicodeDecodeError as error:
        raise RequestError(
            f"the sides have text that is not UTF-8 ({error}); write it as binary"
        ) from None


def size_of(memory: str) -> int:
    """Return a size in bytes, or raise `RequestError` if it is invalid or too small."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]i?B)", memory)
    if not parts:
        raise RequestError(invalid("memory", memory, "a size such as 500MB or 2GB"))
    size = int(float(parts[1]) * _UNITS[parts[2]])
    if size < LEAST_MEMORY:
        raise RequestError(out_of_range("memory", memory, "at least 250MB"))
    return size


def _on_duckdb(
    expected: Any,
    observed: Any,
    request: Request,
    memory_bytes: int,
    of_each: int,
    progress: Callable[[str], None],
) -> tuple[Mapping[str, object], Result]:
    places = []
    for side, given in (("expected", expected), ("observed", observed)):
        if not isinstance(given, str | os.PathLike):
            raise RequestError(
                f"the {side} side is a {type(given).__name__}, but DuckDB reads files and tables; "
                "use the spark engine for DataFrames"
            )
        places.append(os.fspath(given))
    return compare_in_process(places[0], places[1], request, memory_bytes, of_each, progress)
