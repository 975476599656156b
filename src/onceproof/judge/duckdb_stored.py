"""What a parquet file stores where DuckDB reads it as something less.

DuckDB reads a decimal of more than 38 digits as a double, and INT96, how Spark once wrote instants,
as a timestamp without a zone, in microseconds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from onceproof.database import listed
from onceproof.errors import RequestError
from onceproof.judge.columns import Column, Plan
from onceproof.judge.folders import unreadable
from onceproof.judge.kinds import WIDEST_DECIMAL, Kind
from onceproof.judge.places import Files

INT96 = "INT96"


def as_stored(connection: Any, path: str, columns: Sequence[Column]) -> list[Column]:
    """Return the columns of a file by what it stores; one that is not read exactly has no kind."""
    return [
        _as_stored(column, nodes)
        for column, nodes in zip(columns, _stored(connection, path), strict=True)
    ]


def refuse_nanoseconds(side: str, files: Files, plan: Plan) -> None:
    """Raise `RequestError` for a compared INT96 whose nanoseconds would be cut off."""
    columns = (pair.expected if side == "expected" else pair.observed for pair in _pairs(plan))
    names = [column.name for column in columns if column.native == INT96]
    refuse_nanoseconds_in(side, files, names)


def refuse_nanoseconds_in(side: str, files: Files, names: Sequence[str]) -> None:
    """Raise `RequestError` if one of these INT96 columns holds nanoseconds."""
    for path, name in itertools.product(files.paths, names):
        if _is_cut(path, name):
            raise unreadable(
                side,
                files,
                f"column {name} of {path} is INT96 with nanoseconds, and it is compared in "
                f"microseconds: write it as TIMESTAMP(NANOS), or --ignore {name}",
            )


def _is_cut(path: str, name: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as parquet

    with (
        parquet.ParquetFile(path) as whole,
        parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as cut,
    ):
        parts = whole.iter_batches(columns=[name]), cut.iter_batches(columns=[name])
        for ns, us in zip(*parts, strict=True):
            # 64 bits wrap around in both alike, so what is left is right at any time.
            thousands = pc.multiply(us[0].cast(pa.int64()), 1000)
            rest = pc.subtract(ns[0].cast(pa.int64()), thousands)
            if pc.any(pc.not_equal(rest, 0)).as_py():
                return True
    return False


def _pairs(plan: Plan) -> Iterator[Any]:
    yield from (*plan.key, *plan.exact, *plan.near)


def _as_stored(column: Column, nodes: list[tuple[str | None, int]]) -> Column:
    for _, digits in nodes:
        if digits > WIDEST_DECIMAL:
            return replace(column, kind=None, native=f"a decimal of {digits} digits")
    types = [kind for kind, _ in nodes]
    if types == [INT96]:
        return replace(column, kind=Kind("instant", 6), native=INT96)
    if INT96 in types:
        return replace(column, kind=None, native=f"{INT96} within {column.native}")
    return column


def _stored(connection: Any, path: str) -> list[list[tuple[str | None, int]]]:
    """Return of each column of a file the physical type and the decimal digits of every node."""
    schema = f"from parquet_schema({listed([path])}) order by column_id"
    (_, of_root, *_), *rest = connection.execute(
        f"select type, num_children, precision, logical_type {schema}"
    ).fetchall()
    nodes = iter(rest)

    def subtree() -> Iterator[tuple[str | None, int]]:
        native, children, digits, logical = next(nodes)
        said = re.search(r"precision=(\d+)", logical or "")
        yield native, max(digits or 0, int(said[1]) if said else 0)
        for _ in range(children or 0):
            yield from subtree()

    try:
        return [list(subtree()) for _ in range(of_root or 0)]
    except RuntimeError:
        raise RequestError(f"{path} is damaged: its schema ends before its last column") from None
