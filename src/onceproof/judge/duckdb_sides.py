"""Both sides as DuckDB reads them, and what a file without types is taken for.

Text is never guessed at. A CSV or JSON side beside one with types takes those, and a value that
does not fit them exactly is an error; two CSV sides are compared as text; two JSON sides have the
types that fit both of them.
"""

from __future__ import annotations

import glob
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.judge.columns import Column
from onceproof.judge.duckdb_kinds import INT96, columns_of, literal, quoted, written
from onceproof.judge.kinds import Kind
from onceproof.judge.places import Files

_TYPED_FIRST = ("parquet", "json", "csv")


@dataclass(frozen=True)
class Source:
    """A side to select from: its SQL and its columns."""

    sql: str
    columns: tuple[Column, ...]


def open_sides(
    connection: Any, expected: Files, observed: Files, tolerant: Collection[str]
) -> tuple[Source, Source]:
    """Return both sides; columns in `tolerant` are numbers, even where both sides are CSV."""
    sides = {"expected": expected, "observed": observed}
    leader = min(
        sides, key=lambda side: (_TYPED_FIRST.index(sides[side].format), _is_blank(sides[side]))
    )
    other = "observed" if leader == "expected" else "expected"
    first = _open(connection, leader, sides[leader], sides[other], tolerant)
    if sides[other].format == "parquet":
        second = _parquet(connection, other, sides[other])
    else:
        second = _adopting(connection, other, sides[other], first)
    return (first, second) if leader == "expected" else (second, first)


def _open(
    connection: Any, side: str, files: Files, beside: Files, tolerant: Collection[str]
) -> Source:
    if files.format == "parquet":
        return _parquet(connection, side, files)
    if files.format == "json":
        both = [*files.paths, *(beside.paths if beside.format == "json" else ())]
        types = {c.name: c for c in _describe(connection, side, files, _sniffed_json(both))}
        names = [c.name for c in _describe(connection, side, files, _sniffed_json(files.paths))]
        return _typed(files, [_as_read(types[name]) for name in names])
    kinds = {name: Kind("floating", 64) for name in tolerant}
    header = _describe(connection, side, files, _csv(files))
    return _typed(files, [_column(c.name, kinds.get(c.name, Kind("text"))) for c in header])


def _parquet(connection: Any, side: str, files: Files) -> Source:
    sql = f"read_parquet({_listed(files.paths)})"
    columns = _describe(connection, side, files, sql)
    found = connection.execute(
        f"select name from parquet_schema({_listed(files.paths[:1])}) where type = 'INT96'"
    ).fetchall()
    instants = {name for (name,) in found}
    instant = Kind("instant", 6)
    columns = [replace(c, kind=instant, native=INT96) if c.name in instants else c for c in columns]
    return Source(sql, tuple(columns))


def _adopting(connection: Any, side: str, files: Files, typed: Source) -> Source:
    """Open a side that has no types as the other's."""
    known = {column.name: column for column in typed.columns}
    if _is_blank(files):
        nothing = ", ".join(f"null::{_type(c)} as {quoted(c.name)}" for c in typed.columns)
        return Source(f"(select {nothing} where false)", typed.columns)
    reader = _csv(files) if files.format == "csv" else _sniffed_json(files.paths)
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
        c if c.kind and _is_castable(c.kind, files.format) else _column(c.name, None)
        for c in columns
    ]
    if files.format == "csv":
        reader = _csv(files)
    else:
        raw = (f"{literal(c.name)}: {literal(_type(c) if _nests(c) else 'VARCHAR')}" for c in kept)
        reader = (
            f"read_json({_listed(files.paths)}, format='newline_delimited', "
            f"columns={{{', '.join(raw)}}})"
        )
    casts = (
        f"{quoted(c.name) if c.kind is None or _nests(c) else _strictly(c.name, c.kind)} "
        f"as {quoted(c.name)}"
        for c in kept
    )
    named = (c if c.kind else _column(c.name, Kind("text")) for c in kept)
    return Source(f"(select {', '.join(casts)} from {reader})", tuple(named))


def _nests(column: Column) -> bool:
    return bool(column.kind and column.kind.parts)


def _is_castable(kind: Kind, form: str) -> bool:
    return kind.name not in ("binary", "time") and not (kind.parts and form == "csv")


def _strictly(name: str, kind: Kind) -> str:
    """Return the cast of a text that is refused where it would lose something."""
    fraction = kind.digits
    patterns = {
        "integer": r"[+-]?[0-9]+",
        "decimal": rf"[+-]?[0-9]*(\.[0-9]{{0,{kind.scale}}}0*)?",
        "boolean": r"(?i)true|false",
        "date": r"[0-9]+-[0-9]{2}-[0-9]{2}",
        "timestamp": rf"[^.]*(\.[0-9]{{1,{fraction}}}0*)?Z?",
        "instant": rf"[^.]*(\.[0-9]{{1,{fraction}}}0*)?[^.0-9]*([+-].*)?",
    }
    value = quoted(name)
    cast = f"{value}::{written(kind)}"
    if kind.name not in patterns:
        return cast
    words = literal(f"in column {name}, the other side's {kind} cannot hold ")
    return (
        f"case when {value} is null or regexp_full_match({value}, {literal(patterns[kind.name])}) "
        f"then {cast} else error({words} || {value}) end"
    )


def _as_read(column: Column) -> Column:
    """Return a JSON column as its own kind: text stays text, whatever it looks like."""
    return _column(column.name, _plain(column.kind) if column.kind else Kind("text"))


def _plain(kind: Kind) -> Kind:
    if kind.parts:
        return replace(kind, parts=tuple((name, _plain(part)) for name, part in kind.parts))
    return kind if kind.name in ("boolean", "integer", "floating") else Kind("text")


def _column(name: str, kind: Kind | None) -> Column:
    return Column(name, kind, written(kind) if kind else "VARCHAR")


def _is_blank(files: Files) -> bool:
    """Whether these are JSON lines without a line, which have no row and no column."""
    return files.format == "json" and not any(Path(path).stat().st_size for path in files.paths)


def _describe(connection: Any, side: str, files: Files, sql: str) -> list[Column]:
    import duckdb

    if files.format == "csv" and not Path(files.paths[0]).stat().st_size:
        raise RequestError(f"the {side} side {files.name} cannot be read: it has no header line")
    try:
        return columns_of(connection.sql(f"select * from {sql}"))
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        raise RequestError(f"the {side} side {files.name} cannot be read: {said}") from error


def _csv(files: Files) -> str:
    return (
        f"read_csv({_listed(files.paths)}, header=true, all_varchar=true, skip=0, comment='', "
        f"delim={literal(files.delimiter)}, quote='\"', escape='\"', allow_quoted_nulls=false)"
    )


def _sniffed_json(paths: Sequence[str]) -> str:
    return (
        f"read_json({_listed(paths)}, format='newline_delimited', sample_size=-1, "
        "map_inference_threshold=-1)"
    )


def _listed(paths: Sequence[str]) -> str:
    """Return paths as SQL; DuckDB takes a name for a pattern, so its signs are made plain."""
    return "[" + ", ".join(literal(glob.escape(path)) for path in paths) + "]"
