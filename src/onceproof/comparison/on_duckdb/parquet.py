"""Parquet files as DuckDB reads them: as one table, if all have the columns of the first.

DuckDB takes names and types from the first file, casts the values of later ones (1.7 becomes 2 in
an integer column) and leaves out columns that only they have. So the columns of every file are
checked first, which costs a read of its footer.

DuckDB reads some types inexactly: a decimal of more than 38 digits as a double, and INT96, which
older versions of Spark wrote for instants, as a timestamp without a zone, in microseconds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onceproof.comparison.columns import Column, Plan
from onceproof.comparison.folders import (
    folder_columns,
    refuse_other_names,
    refuse_shadowed,
    unreadable,
)
from onceproof.comparison.kinds import NOTHING, WIDEST_DECIMAL, Kind
from onceproof.comparison.on_duckdb.kinds import columns_of, written
from onceproof.comparison.places import Files
from onceproof.database import listed, quoted, read_parquet
from onceproof.errors import RequestError

PLACE = "file_index", "file_row_number"
# The properties of a schema node in which the columns of files may differ.
_NODE = (
    "name, type, type_length, num_children, precision, converted_type, logical_type, duckdb_type"
)

INT96 = "INT96"


@dataclass(frozen=True)
class Source:
    """A side to select from: its SQL, its columns and its files.

    Rows of parquet have a place, `file_index` and `file_row_number`, to find them again.
    """

    sql: str
    columns: tuple[Column, ...]
    files: Files


def open_parquet(connection: Any, side: str, files: Files) -> Source:
    """Return files of parquet as a source, or raise for a file with other columns than the rest."""
    inside = refuse_others(connection, side, files)
    folders = folder_columns(side, files)
    refuse_shadowed(side, files, [column.name for column in inside], folders)
    for name in PLACE:
        if name in {*(one.name.lower() for one in inside), *(one.name.lower() for one in folders)}:
            raise unreadable(side, files, f"DuckDB numbers rows in column {name}; rename it")
    sql = read_parquet(files.paths, "file_row_number=true")
    if folders:
        cells = (f"{one.sql}::{written(one.kind)} as {quoted(one.name)}" for one in folders)
        sql = f"(select *, file_index, {', '.join(cells)} from {sql})"
    named = (Column(one.name, one.kind, written(one.kind)) for one in folders)
    return Source(sql, (*inside, *named), files)


def refuse_others(connection: Any, side: str, files: Files) -> list[Column]:
    """Return the columns of the first file; raise `RequestError` for a file with other columns.

    Integers may have another width, since reading one that is too large is an error, and a later
    file's column may have NULLs only.
    """
    import duckdb

    first = _columns(connection, side, files, files.paths[0])
    schemas = (
        f"select min(file_name) as path, list(({_NODE}) order by column_id) as nodes "
        f"from parquet_schema({listed(files.paths)}) group by file_name"
    )
    try:
        one_of_each = connection.execute(f"select min(path) from ({schemas}) group by nodes")
        others = sorted(path for (path,) in one_of_each.fetchall())
    except duckdb.Error as error:
        raise unreadable(side, files, str(error)) from error
    for path in others if len(others) > 1 else ():
        other = _columns(connection, side, files, path)
        refuse_other_names(side, files, [(files.paths[0], list(first)), (path, list(other))])
        for name, column in first.items():
            if not _is_read_as(other[name], column):
                raise unreadable(
                    side,
                    files,
                    f"column {name} is {column.native} in {files.paths[0]} and "
                    f"{other[name].native} in {path}; write all files with one type",
                )
    return list(first.values())


def describe(connection: Any, side: str, files: Files, sql: str) -> list[Column]:
    """Return the columns of a query, or raise `RequestError`."""
    import duckdb

    try:
        return columns_of(connection.sql(f"select * from {sql}"))
    except duckdb.Error as error:
        raise unreadable(side, files, str(error)) from error


def _columns(connection: Any, side: str, files: Files, path: str) -> Mapping[str, Column]:
    """Return the columns in the file itself, with its own types."""
    columns = describe(connection, side, files, read_parquet([path]))
    return {column.name: column for column in as_stored(connection, path, columns)}


def _is_read_as(column: Column, first: Column) -> bool:
    """Whether a column is read like the first file's, to the last digit, or refused."""
    if column == first or column.kind == NOTHING:
        return True
    both = column.kind, first.kind
    return all(kind is not None and kind.name == "integer" for kind in both)


def as_stored(connection: Any, path: str, columns: Sequence[Column]) -> list[Column]:
    """Return the columns of a file as stored; a column that is not read exactly has no kind."""
    return [
        _as_stored(column, nodes)
        for column, nodes in zip(columns, _stored(connection, path), strict=True)
    ]


def refuse_nanoseconds(side: str, files: Files, plan: Plan) -> None:
    """Raise `RequestError` for a compared INT96 whose nanoseconds would be lost."""
    columns = (pair.expected if side == "expected" else pair.observed for pair in _pairs(plan))
    names = [column.name for column in columns if column.native.startswith(INT96)]
    refuse_nanoseconds_in(side, files, names)


def refuse_nanoseconds_in(side: str, files: Files, names: Sequence[str]) -> None:
    """Raise `RequestError` if one of these INT96 columns has nanoseconds."""
    for path, name in itertools.product(files.paths, names):
        if _is_cut(path, name):
            raise unreadable(
                side,
                files,
                f"column {name} of {path} is INT96 with nanoseconds, but is compared in "
                f"microseconds; write it as TIMESTAMP(NANOS), or --ignore {name}",
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
        for batches in zip(*parts, strict=True):
            for ns, us in zip(*(_times(batch[0]) for batch in batches), strict=True):
                if ns.type == us.type:
                    continue
                # 64 bits overflow equally in both, so the remainder is always right.
                thousands = pc.multiply(us.cast(pa.int64()), 1000)
                rest = pc.subtract(ns.cast(pa.int64()), thousands)
                if pc.any(pc.not_equal(rest, 0)).as_py():
                    return True
    return False


def _times(array: Any) -> Iterator[Any]:
    from pyarrow import types

    if types.is_timestamp(array.type):
        yield array
    elif types.is_map(array.type):
        yield from _times(array.keys)
        yield from _times(array.items)
    elif types.is_struct(array.type):
        for number in range(array.type.num_fields):
            yield from _times(array.field(number))
    elif types.is_list(array.type) or types.is_large_list(array.type):
        yield from _times(array.values)


def _pairs(plan: Plan) -> Iterator[Any]:
    yield from (*plan.key, *plan.exact, *plan.near)


def _as_stored(column: Column, stored: tuple[str, list[tuple[str, int]]]) -> Column:
    name, leaves = stored
    if column.name != name:
        raise RequestError(
            f"column {name} is {column.name} in DuckDB, where names that differ only in "
            "case are the same; rename one"
        )
    for _, digits in leaves:
        if digits > WIDEST_DECIMAL:
            return replace(column, kind=None, native=f"a decimal of {digits} digits")
    if column.kind is None or INT96 not in (native for native, _ in leaves):
        return column
    kind = _with_instants(column.kind, iter(leaves))
    return replace(column, kind=kind, native=f"{INT96} within {column.native}")


def _with_instants(kind: Kind, leaves: Iterator[tuple[str, int]]) -> Kind:
    """Return a kind in which the parts stored as INT96, leaf by leaf, are instants."""
    if kind.parts:
        parts = tuple((name, _with_instants(part, leaves)) for name, part in kind.parts)
        return replace(kind, parts=parts)
    native, _ = next(leaves)
    return Kind("instant", 6) if native == INT96 else kind


def _stored(connection: Any, path: str) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return each column of a file: its name, and type and decimal digits of every leaf."""
    schema = f"from parquet_schema({listed([path])}) order by column_id"
    (_, _, of_root, *_), *rest = connection.execute(
        f"select name, type, num_children, precision, logical_type {schema}"
    ).fetchall()
    nodes = iter(rest)

    def subtree(children: int | None, leaf: tuple[str, int]) -> Iterator[tuple[str, int]]:
        if not children:
            yield leaf
        for _ in range(children or 0):
            yield from subtree(*node()[1:])

    def node() -> tuple[str, int | None, tuple[str, int]]:
        name, native, children, digits, logical = next(nodes)
        precision = re.search(r"precision=(\d+)", logical or "")
        return name, children, (native, max(digits or 0, int(precision[1]) if precision else 0))

    found = []
    for _ in range(of_root or 0):
        name, children, leaf = node()
        found.append((name, list(subtree(children, leaf))))
    return found
