"""How text, of CSV or JSON, is read: as a value of a type exactly, or not at all."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import replace

from onceproof.judge.duckdb_kinds import literal, quoted, written
from onceproof.judge.kinds import Kind
from onceproof.judge.places import Files


def is_castable(kind: Kind, form: str) -> bool:
    """Whether text of this format can be read as the kind; only JSON nests."""
    return kind.name not in ("binary", "time") and not (kind.parts and form == "csv")


def strictly(name: str, kind: Kind) -> str:
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


def of_json(kind: Kind) -> Kind:
    """Return what DuckDB found in JSON without its guesses at text: text is text."""
    if kind.parts:
        return replace(kind, parts=tuple((name, of_json(part)) for name, part in kind.parts))
    return kind if kind.name in ("boolean", "integer", "floating") else Kind("text")


def csv_reader(files: Files) -> str:
    """Return the SQL that reads CSV as text: no line is skipped, a quoted nothing is no NULL."""
    return (
        f"read_csv({listed(files.paths)}, header=true, all_varchar=true, skip=0, comment='', "
        f"delim={literal(files.delimiter)}, quote='\"', escape='\"', allow_quoted_nulls=false)"
    )


def json_reader(paths: Sequence[str]) -> str:
    """Return the SQL that reads JSON lines with the types that fit every line of every file."""
    return (
        f"read_json({listed(paths)}, format='newline_delimited', sample_size=-1, "
        f"map_inference_threshold=-1, maximum_sample_files={len(paths)})"
    )


def listed(paths: Sequence[str]) -> str:
    """Return paths as SQL; DuckDB takes a name for a pattern, so its signs are made plain."""
    return "[" + ", ".join(literal(glob.escape(path)) for path in paths) + "]"
