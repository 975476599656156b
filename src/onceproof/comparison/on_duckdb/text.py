"""How text of CSV is read: as a value of a type exactly, or not at all."""

from __future__ import annotations

from typing import Any

from onceproof.comparison.folders import folder_columns
from onceproof.comparison.kinds import Kind
from onceproof.comparison.numbers import is_held
from onceproof.comparison.on_duckdb.kinds import quoted, written
from onceproof.comparison.places import Files, packing
from onceproof.database import listed, literal

_DAY = r"[0-9]{1,6}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,%d}0*)?)?"
_OFFSET = r" ?(Z|UTC|[+-][0-9]{2}(:[0-9]{2}){0,2})"
# So few digits, and so small an exponent, that the number's own text tells it from all others.
_SHORT = {64: (15, r"([eE][+-]?[0-9]{1,2})?"), 32: (6, r"([eE][+-]?[0-9])?")}


def is_castable(kind: Kind) -> bool:
    """Whether text of CSV can be read as the kind."""
    return kind.name not in ("binary", "time") and not kind.parts


def strictly(name: str, kind: Kind) -> str:
    """Return the cast of a text that is refused where it would lose something."""
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
    """Define what the SQL of `strictly` calls."""
    connection.create_function("is_held", is_held, ["VARCHAR", "INTEGER"], "BOOLEAN")


def csv_reader(side: str, files: Files) -> str:
    """Return the SQL that reads CSV as text: no line is skipped, a quoted nothing is no NULL."""
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
    """Return whether a float holds a number: by its length, and only else by its value."""
    digits, exponent = _SHORT[kind.digits]
    pattern = rf"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+){exponent}|(?i)[+-]?(nan|inf|infinity)"
    return (
        f"case when length(regexp_replace({value}, '[^0-9]', '', 'g')) <= {digits} and "
        f"regexp_full_match({value}, {literal(pattern)}) then true "
        f"else is_held({value}, {kind.digits}) end"
    )
