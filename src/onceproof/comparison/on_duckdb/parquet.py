"""Files of parquet as DuckDB reads them: many as one, where each has the columns of the first.

DuckDB takes names and types from the first file, casts what later ones hold (1.7 becomes 2 beside
an integer) and leaves out columns that only they have. So the columns of every file are looked at
first, which costs a read of its footer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.comparison.columns import Column
from onceproof.comparison.folders import (
    folder_columns,
    refuse_other_names,
    refuse_shadowed,
    unreadable,
)
from onceproof.comparison.kinds import NOTHING
from onceproof.comparison.on_duckdb.kinds import columns_of, quoted, written
from onceproof.comparison.on_duckdb.stored import as_stored
from onceproof.comparison.places import Files
from onceproof.database import listed, read_parquet

PLACE = "file_index", "file_row_number"
# What tells the columns of files apart, of each node of their schemas.
_NODE = (
    "name, type, type_length, num_children, precision, converted_type, logical_type, duckdb_type"
)


@dataclass(frozen=True)
class Source:
    """A side to select from: its SQL, its columns and its files.

    Rows of parquet have a place, `file_index` and `file_row_number`, by which they are found again.
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
            raise unreadable(side, files, f"DuckDB numbers rows in {name}, rename that column")
    sql = read_parquet(files.paths, "file_row_number=true")
    if folders:
        cells = (f"{one.sql}::{written(one.kind)} as {quoted(one.name)}" for one in folders)
        sql = f"(select *, file_index, {', '.join(cells)} from {sql})"
    named = (Column(one.name, one.kind, written(one.kind)) for one in folders)
    return Source(sql, (*inside, *named), files)


def refuse_others(connection: Any, side: str, files: Files) -> list[Column]:
    """Raise `RequestError` for a file whose columns are not those of the first; return those.

    Integers may be of other width, since one that is too large is an error when it is read, and a
    later file's column may hold NULLs only.
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
                    f"{other[name].native} in {path}: write all files with one type",
                )
    return list(first.values())


def describe(connection: Any, side: str, files: Files, sql: str) -> list[Column]:
    """Return the columns of what this SQL reads, or raise `RequestError`."""
    import duckdb

    try:
        return columns_of(connection.sql(f"select * from {sql}"))
    except duckdb.Error as error:
        raise unreadable(side, files, str(error)) from error


def _columns(connection: Any, side: str, files: Files, path: str) -> Mapping[str, Column]:
    """Return the columns that are in a file itself, by its own types."""
    columns = describe(connection, side, files, read_parquet([path]))
    return {column.name: column for column in as_stored(connection, path, columns)}


def _is_read_as(column: Column, first: Column) -> bool:
    """Whether a column is read as the first file's is, to the last digit, or not at all."""
    if column == first or column.kind == NOTHING:
        return True
    both = column.kind, first.kind
    return all(kind is not None and kind.name == "integer" for kind in both)
