"""Both sides as DuckDB reads them, with the types of files that have none.

Types of text are never guessed. A CSV side takes the types of the other side, and a value that does
not fit exactly is an error; two CSV sides are compared as text. JSON has its own types: text beside
a number is an error, and two JSON sides have the types that fit both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onceproof.comparison.columns import Column, Request
from onceproof.comparison.folders import (
    folder_columns,
    refuse_other_names,
    refuse_shadowed,
    unreadable,
)
from onceproof.comparison.json_lines import AS_WRITTEN, JsonLines, merge, refusal
from onceproof.comparison.json_values import is_castable as is_castable_json
from onceproof.comparison.json_values import write_parquet
from onceproof.comparison.kinds import NOTHING, Kind, is_held
from onceproof.comparison.on_duckdb.kinds import written
from onceproof.comparison.on_duckdb.parquet import Source, describe, open_parquet
from onceproof.comparison.places import Files, packing
from onceproof.database import listed, literal, quoted
from onceproof.errors import RequestError

_TYPED_FIRST = ("parquet", "json", "csv", "tsv")
_DAY = r"[0-9]{1,6}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,%d}0*)?)?"
_OFFSET = r" ?(Z|UTC|[+-][0-9]{2}(:[0-9]{2}){0,2})"
# Up to this many digits and this exponent, a number's text identifies it.
_SHORT = {64: (15, r"([eE][+-]?[0-9]{1,2})?"), 32: (6, r"([eE][+-]?[0-9])?")}


def open_sides(
    connection: Any, expected: Files, observed: Files, request: Request, scratch: Path
) -> tuple[Source, Source]:
    """Return both sides as parquet; text files are converted in the scratch folder first.

    Columns with a tolerance are numbers, even if both sides are CSV; ignored ones are text.
    """
    sides = {"expected": expected, "observed": observed}
    if any(files.is_text for files in sides.values()):
        prepare(connection)
    lines = {
        side: JsonLines.look(side, files) for side, files in sides.items() if files.format == "json"
    }
    blank = [side for side, found in lines.items() if not found.rows]
    if len(blank) == 2:
        raise RequestError("neither side has a line, so the columns are unknown")
    leader, other = sorted(
        sides, key=lambda side: (side in blank, _TYPED_FIRST.index(sides[side].format))
    )
    opened: dict[str, Source] = {}
    for side in (leader, other):
        files, target = sides[side], scratch / f"{side}.parquet"
        if files.format == "parquet":
            opened[side] = open_parquet(connection, side, files)
        elif files.format == "json":
            kinds = _json_kinds(lines, side, opened.get(leader), lines.get(other))
            kinds |= dict.fromkeys(kinds.keys() & set(request.ignore), AS_WRITTEN)
            opened[side] = _of_json(connection, lines[side], kinds, target)
        else:
            text = _text(connection, side, files, request, opened.get(leader))
            opened[side] = _as_parquet(connection, side, files, text, target)
    return opened["expected"], opened["observed"]


def _json_kinds(
    lines: Mapping[str, JsonLines], side: str, leader: Source | None, other: JsonLines | None
) -> dict[str, Kind]:
    """Return the kind in which each member of a JSON side is read."""
    own = lines[side].kinds
    if leader is None:
        theirs = other.kinds if other else {}
        return {name: merge(kind, theirs.get(name, NOTHING)) for name, kind in own.items()}
    adopted = {column.name: column.kind for column in leader.columns}
    if not lines[side].rows:
        return {name: kind or Kind("text") for name, kind in adopted.items()}
    if leader.files.format == "json":
        theirs = lines["expected" if side == "observed" else "observed"].kinds
        return {name: merge(kind, theirs.get(name, NOTHING)) for name, kind in own.items()}
    return {name: _adopted(adopted.get(name), kind) for name, kind in own.items()}


def _adopted(kind: Kind | None, own: Kind) -> Kind:
    return kind if kind and not kind.has_nothing and is_castable_json(kind) else own


def _of_json(connection: Any, lines: JsonLines, kinds: dict[str, Kind], target: Path) -> Source:
    if not kinds:
        raise unreadable(lines.side, lines.files, "its objects have no member")
    write_parquet(lines, kinds, target)
    source = _scratch(connection, lines.side, lines.files, target)
    why = {name: refusal(kind) for name, kind in kinds.items()}
    columns = (
        replace(c, kind=None, native=reason) if (reason := why[c.name]) else c
        for c in source.columns
    )
    return replace(source, columns=tuple(columns))


def _text(
    connection: Any, side: str, files: Files, request: Request, leader: Source | None
) -> Source:
    """Open a CSV side with the types of the other, or as text."""
    _refuse_other_headers(connection, side, files)
    if leader:
        kinds = {column.name: column.kind for column in leader.columns}
    else:
        kinds = {name: Kind("floating", 64) for name in request.tolerance}
    reader = csv_reader(side, files)
    columns = []
    for column in _header(connection, side, files, reader):
        kind = kinds.get(column.name) or Kind("text")
        is_text = column.name in request.ignore or not is_castable(kind)
        columns.append(_column(column.name, Kind("text") if is_text else kind))
    casts = (f"{strict_cast(c.name, c.kind or NOTHING)} as {quoted(c.name)}" for c in columns)
    return Source(f"(select {', '.join(casts)} from {reader})", tuple(columns), files)


def _as_parquet(connection: Any, side: str, files: Files, text: Source, target: Path) -> Source:
    import duckdb

    try:
        connection.execute(f"copy (from {text.sql}) to {literal(str(target))} (format parquet)")
    except duckdb.Error as error:
        raise unreadable(side, files, str(error)) from error
    return _scratch(connection, side, files, target)


def _scratch(connection: Any, side: str, files: Files, target: Path) -> Source:
    """Open the copy of a side; `files` remain those that the user named."""
    copied = replace(files, format="parquet", paths=(str(target),), root=str(target.parent))
    return replace(open_parquet(connection, side, copied), files=files)


def _column(name: str, kind: Kind) -> Column:
    return Column(name, kind, written(kind))


def _header(connection: Any, side: str, files: Files, reader: str) -> Sequence[Column]:
    if not Path(files.paths[0]).stat().st_size:
        raise RequestError(f"the {side} side {files.name} cannot be read: it has no header line")
    return describe(connection, side, files, reader)


def _refuse_other_headers(connection: Any, side: str, files: Files) -> None:
    """Raise for a CSV file whose header has other columns than the first file's.

    DuckDB leaves out a column that only later files have. A file without a line has no rows.
    """
    headers = []
    for path in files.paths:
        if Path(path).stat().st_size:
            alone = replace(files, paths=(path,), root=str(Path(path).parent))
            columns = describe(connection, side, alone, csv_reader(side, alone))
            headers.append((path, [column.name for column in columns]))
    if headers:
        refuse_other_names(side, files, headers)
        refuse_shadowed(side, files, headers[0][1], folder_columns(side, files))


def is_castable(kind: Kind) -> bool:
    """Whether text of CSV can be read as the kind."""
    return kind.name not in ("binary", "time") and not kind.parts


def strict_cast(name: str, kind: Kind) -> str:
    """Return a cast of text that raises if it would lose information."""
    value = quoted(name)
    fits = _floating(value, kind) if kind.name == "floating" else _matches(value, kind)
    if not fits:
        return f"{value}::{written(kind)}"
    words = literal(f"in column {name}, the other side's {kind} cannot hold ")
    return (
        f"case when {value} is null or {fits} then {value}::{written(kind)} "
        f"else error({words} || {value}) end"
    )


def prepare(connection: Any) -> None:
    """Define the functions in the SQL of `strict_cast`."""
    connection.create_function("is_held", is_held, ["VARCHAR", "INTEGER"], "BOOLEAN")


def csv_reader(side: str, files: Files) -> str:
    """Return the SQL that reads CSV as text: no skipped line, and quoted empty text is not NULL."""
    delimiter = "\t" if files.format == "tsv" else ","
    packed = {packing(path) or "none" for path in files.paths}
    compression = f", compression='{packed.pop()}'" if len(packed) == 1 else ""
    sql = (
        f"read_csv({listed(files.paths)}, hive_partitioning=false, header=true, all_varchar=true, "
        f"skip=0, comment='', delim={literal(delimiter)}, quote='\"', escape='\"', "
        f"allow_quoted_nulls=false{compression})"
    )
    if folders := folder_columns(side, files):
        cells = (f"{one.sql} as {quoted(one.name)}" for one in folders)
        return f"(select *, {', '.join(cells)} from {sql})"
    return sql


def _matches(value: str, kind: Kind) -> str | None:
    time = _TIME % kind.digits if kind.name in ("timestamp", "instant") else ""
    patterns = {
        "integer": r"[+-]?[0-9]+",
        "decimal": rf"[+-]?[0-9]*(\.[0-9]{{0,{kind.scale}}}0*)?",
        "boolean": r"(?i)true|false",
        "date": r"[0-9]+-[0-9]{2}-[0-9]{2}",
        "timestamp": rf"{_DAY}([ T]{time})?",
        "instant": rf"{_DAY}([ T]{time}({_OFFSET})?)?",
    }
    if kind.name not in patterns:
        return None
    return f"regexp_full_match({value}, {literal(patterns[kind.name])})"


def _floating(value: str, kind: Kind) -> str:
    """Return the SQL of whether a float holds a number: by its length, or else by its value."""
    digits, exponent = _SHORT[kind.digits]
    pattern = rf"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+){exponent}|(?i)[+-]?(nan|inf|infinity)"
    return (
        f"case when length(regexp_replace({value}, '[^0-9]', '', 'g')) <= {digits} and "
        f"regexp_full_match({value}, {literal(pattern)}) then true "
        f"else is_held({value}, {kind.digits}) end"
    )
