"""Files of parquet as DuckDB reads them: many as one, where each has the columns of the first.

DuckDB takes names and types from the first file, casts what later ones hold (1.7 becomes 2 beside
an integer) and leaves out columns that only they have. So the columns of every file are looked at
first, which costs a read of its footer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.judge.columns import Column
from onceproof.judge.duckdb_kinds import INT96, columns_of
from onceproof.judge.duckdb_text import listed
from onceproof.judge.kinds import NOTHING, Kind
from onceproof.judge.places import Files

PLACE = "file_index", "file_row_number"
# What tells the columns of files apart, of each node of their schemas.
_NODE = "name, type, type_length, num_children, converted_type, logical_type, duckdb_type"


@dataclass(frozen=True)
class Source:
    """A side to select from: its SQL and its columns.

    Rows of parquet have a place, `file_index` and `file_row_number`, by which they are found again.
    """

    sql: str
    columns: tuple[Column, ...]


def open_parquet(connection: Any, side: str, files: Files) -> Source:
    """Return files of parquet as a source, or raise for a file with other columns than the rest."""
    refuse_others(connection, side, files)
    sql = f"read_parquet({listed(files.paths)}, file_row_number=true)"
    columns = [c for c in describe(connection, side, files, sql) if c.name != PLACE[1]]
    for name in PLACE:
        if name in (column.name.lower() for column in columns):
            raise unreadable(side, files, f"DuckDB numbers rows in {name}, rename that column")
    return Source(sql, tuple(_instants(connection, files.paths[0], columns)))


def refuse_others(connection: Any, side: str, files: Files) -> None:
    """Raise `RequestError` for a file whose columns are not those of the first.

    Integers may be of other width, since one that is too large is an error when it is read, and a
    later file's column may hold NULLs only.
    """
    import duckdb

    if len(files.paths) < 2:
        return
    refuse_other_names(side, files, ((path, _folders(path)) for path in files.paths))
    schemas = (
        f"select min(file_name) as path, list(({_NODE}) order by column_id) as nodes "
        f"from parquet_schema({listed(files.paths)}) group by file_name"
    )
    try:
        one_of_each = connection.execute(f"select min(path) from ({schemas}) group by nodes")
        others = sorted(path for (path,) in one_of_each.fetchall())
    except duckdb.Error as error:
        raise unreadable(side, files, str(error)) from error
    if len(others) == 1:
        return
    first = _columns(connection, side, files, files.paths[0])
    for path in others:
        other = _columns(connection, side, files, path)
        refuse_other_names(side, files, ((files.paths[0], first), (path, other)))
        for name, column in first.items():
            if not _is_read_as(other[name], column):
                raise unreadable(
                    side,
                    files,
                    f"column {name} is {column.native} in {files.paths[0]} and "
                    f"{other[name].native} in {path}: write all files with one type",
                )


def refuse_other_names(side: str, files: Files, named: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Raise `RequestError` for a file whose names of columns are not those of the first."""
    first: tuple[str, frozenset[str]] | None = None
    for path, names in named:
        here = path, frozenset(names)
        first = first or here
        for one, other in ((first, here), (here, first)):
            if more := sorted(one[1] - other[1]):
                raise unreadable(
                    side,
                    files,
                    f"column {more[0]} is in {one[0]} and not in {other[0]}: write it into all "
                    "files, or compare these apart",
                )


def describe(connection: Any, side: str, files: Files, sql: str) -> list[Column]:
    """Return the columns of what this SQL reads, or raise `RequestError`."""
    import duckdb

    try:
        return columns_of(connection.sql(f"select * from {sql}"))
    except duckdb.Error as error:
        raise unreadable(side, files, str(error)) from error


def unreadable(side: str, files: Files, said: str) -> RequestError:
    """Return the error that says why a side cannot be read."""
    return RequestError(f"the {side} side {files.name} cannot be read: {said.splitlines()[0]}")


def _columns(connection: Any, side: str, files: Files, path: str) -> Mapping[str, Column]:
    """Return the columns that stand in a file itself."""
    sql = f"read_parquet({listed([path])}, hive_partitioning=false)"
    columns = describe(connection, side, files, sql)
    return {column.name: column for column in _instants(connection, path, columns)}


def _instants(connection: Any, path: str, columns: Iterable[Column]) -> list[Column]:
    """Return the columns of a file, with those that Spark writes as INT96 as instants."""
    found = connection.execute(
        f"select name from parquet_schema({listed([path])}) where type = 'INT96'"
    ).fetchall()
    names, kind = {name for (name,) in found}, Kind("instant", 6)
    return [replace(c, kind=kind, native=INT96) if c.name in names else c for c in columns]


def _folders(path: str) -> list[str]:
    """Return the columns that a file's folders name."""
    parts = (part.partition("=") for part in Path(path).parts[:-1])
    return [name for name, sign, _ in parts if sign]


def _is_read_as(column: Column, first: Column) -> bool:
    """Whether a column is read as the first file's is, to the last digit, or not at all."""
    if column == first or column.kind == NOTHING:
        return True
    both = column.kind, first.kind
    return all(kind is not None and kind.name == "integer" for kind in both)
