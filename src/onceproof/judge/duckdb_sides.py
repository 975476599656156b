"""Both sides as DuckDB reads them, and what a file without types is taken for.

Text is never guessed at. A CSV or JSON side beside one with types takes those, and a value that
does not fit them exactly is an error; two CSV sides are compared as text; two JSON sides have the
types that fit both of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.judge.columns import Column
from onceproof.judge.duckdb_kinds import literal, quoted, written
from onceproof.judge.duckdb_parquet import (
    Source,
    describe,
    open_parquet,
    refuse_other_names,
    unreadable,
)
from onceproof.judge.duckdb_text import (
    csv_reader,
    is_castable,
    json_reader,
    listed,
    of_json,
    strictly,
)
from onceproof.judge.kinds import Kind
from onceproof.judge.places import Files

_TYPED_FIRST = ("parquet", "json", "csv")


def open_sides(
    connection: Any, expected: Files, observed: Files, tolerant: Collection[str], scratch: Path
) -> tuple[Source, Source]:
    """Return both sides as parquet, which what is text becomes first, in the scratch folder.

    Columns in `tolerant` are numbers, even where both sides are CSV.
    """
    sides = {"expected": expected, "observed": observed}
    leader = min(
        sides, key=lambda side: (_is_blank(sides[side]), _TYPED_FIRST.index(sides[side].format))
    )
    if _is_blank(sides[leader]):
        raise RequestError("neither side has a line, so nothing says which columns they have")
    other = "observed" if leader == "expected" else "expected"
    for side, files in sides.items():
        _refuse_other_headers(connection, side, files)
    if sides[leader].format == "parquet":
        first = open_parquet(connection, leader, sides[leader])
    elif sides[leader].format == "json":
        first = _json(connection, sides, leader, other)
    else:
        first = _text(connection, leader, sides[leader], tolerant)
    if sides[other].format == "parquet":
        second = open_parquet(connection, other, sides[other])
    else:
        second = _adopting(connection, other, sides[other], first)
    opened = {leader: first, other: second}
    for side, files in sides.items():
        if files.format != "parquet":
            opened[side] = _as_parquet(connection, side, files, opened[side], scratch)
    return opened["expected"], opened["observed"]


def _as_parquet(connection: Any, side: str, files: Files, text: Source, scratch: Path) -> Source:
    import duckdb

    target = scratch / f"{side}.parquet"
    try:
        connection.execute(f"copy (from {text.sql}) to {literal(str(target))} (format parquet)")
    except duckdb.Error as error:
        raise unreadable(side, files, str(error)) from error
    return open_parquet(connection, side, replace(files, format="parquet", paths=(str(target),)))


def _json(connection: Any, sides: Mapping[str, Files], leader: str, other: str) -> Source:
    """Open a JSON side with the types that fit the other's values too, if that is JSON."""
    ours, theirs = sides[leader], sides[other]
    own = _describe(connection, leader, ours, json_reader(ours.paths))
    types = {column.name: column for column in own}
    if theirs.format == "json" and not _is_blank(theirs):
        _describe(connection, other, theirs, json_reader(theirs.paths))
        both = json_reader([*ours.paths, *theirs.paths])
        types = {c.name: c for c in _describe(connection, leader, ours, both)}
    return _typed(ours, [_as_read(types[column.name]) for column in own])


def _text(connection: Any, side: str, files: Files, tolerant: Collection[str]) -> Source:
    kinds = {name: Kind("floating", 64) for name in tolerant}
    header = _describe(connection, side, files, csv_reader(files))
    return _typed(files, [_column(c.name, kinds.get(c.name, Kind("text"))) for c in header])


def _adopting(connection: Any, side: str, files: Files, typed: Source) -> Source:
    """Open a side that has no types as the other's."""
    known = {column.name: column for column in typed.columns}
    if _is_blank(files):
        nothing = ", ".join(f"null::{_type(c)} as {quoted(c.name)}" for c in typed.columns)
        return Source(f"(select {nothing} where false)", typed.columns)
    reader = csv_reader(files) if files.format == "csv" else json_reader(files.paths)
    columns = []
    for column in _describe(connection, side, files, reader):
        kind = known[column.name].kind if column.name in known else None
        columns.append(_column(column.name, kind) if kind else column)
    return _typed(files, columns)


def _type(column: Column) -> str:
    return written(column.kind) if column.kind else "VARCHAR"


def _typed(files: Files, columns: Sequence[Column]) -> Source:
    """Return the reader of text or JSON whose values are cast to these columns' kinds."""
    kept = [
        c if c.kind and is_castable(c.kind, files.format) else _column(c.name, None)
        for c in columns
    ]
    if files.format == "csv":
        reader = csv_reader(files)
    else:
        raw = (f"{literal(c.name)}: {literal(_type(c) if _nests(c) else 'VARCHAR')}" for c in kept)
        reader = (
            f"read_json({listed(files.paths)}, format='newline_delimited', "
            f"columns={{{', '.join(raw)}}})"
        )
    casts = (
        f"{quoted(c.name) if c.kind is None or _nests(c) else strictly(c.name, c.kind)} "
        f"as {quoted(c.name)}"
        for c in kept
    )
    named = (c if c.kind else _column(c.name, Kind("text")) for c in kept)
    return Source(f"(select {', '.join(casts)} from {reader})", tuple(named))


def _nests(column: Column) -> bool:
    return bool(column.kind and column.kind.parts)


def _as_read(column: Column) -> Column:
    """Return a JSON column as its own kind: text stays text, whatever it looks like."""
    return _column(column.name, of_json(column.kind) if column.kind else Kind("text"))


def _column(name: str, kind: Kind | None) -> Column:
    return Column(name, kind, written(kind) if kind else "VARCHAR")


def _is_blank(files: Files) -> bool:
    """Whether these are JSON lines without a line, which have no row and no column."""
    return files.format == "json" and not any(Path(path).stat().st_size for path in files.paths)


def _describe(connection: Any, side: str, files: Files, sql: str) -> list[Column]:
    if files.format == "csv" and not Path(files.paths[0]).stat().st_size:
        raise RequestError(f"the {side} side {files.name} cannot be read: it has no header line")
    return describe(connection, side, files, sql)


def _refuse_other_headers(connection: Any, side: str, files: Files) -> None:
    """Raise for a CSV file whose header names other columns than the first's.

    DuckDB leaves out a column that only later files have. A file without a line has no rows either.
    """
    if files.format != "csv" or len(files.paths) < 2:
        return
    with_lines = (path for path in files.paths if Path(path).stat().st_size)
    alone = (replace(files, paths=(path,)) for path in with_lines)
    headers = (
        (one.paths[0], [c.name for c in describe(connection, side, files, csv_reader(one))])
        for one in alone
    )
    refuse_other_names(side, files, headers)
