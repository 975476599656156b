"""DuckDB's types as kinds, and the expressions that bring a column into the kind it is compared in.

Two values are equal exactly if DuckDB compares the results of `canonical` as equal.

A row has two independent 64-bit hashes, made from DuckDB's hash function. That is meant for hash
tables, and four of its properties would make different rows equal:

- text is mixed in blocks of 8 bytes whose high bits never reach the low ones: two texts that differ
  in their 8th and 16th byte only collide once in 256. The second hash reads the text four bytes
  later, so that what was high in its block is low;
- the two halves of 128-bit numbers (wide decimals among them) are joined by exclusive or: 0 and
  -0.01 collide. They are hashed as text;
- NULL, [] and [NULL], a struct of NULLs and NULL are one. Nested values bring their length and
  their NULLs along; and one bigint has the hash of NULL, so the second hash includes NULLs;
- columns are joined by exclusive or: swapped between two rows, values leave a sum of the rows as it
  was once in 10^8 cases. The row's hash is hashed once more before it is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onceproof.comparison.columns import Column
from onceproof.comparison.kinds import NOTHING, Kind
from onceproof.database import literal, quoted

# A kind's digits: bits of an integer (one more if it is unsigned), decimals of a second.
_FLAT = {
    "boolean": Kind("boolean"),
    "tinyint": Kind("integer", 8),
    "utinyint": Kind("integer", 9),
    "smallint": Kind("integer", 16),
    "usmallint": Kind("integer", 17),
    "integer": Kind("integer", 32),
    "uinteger": Kind("integer", 33),
    "bigint": Kind("integer", 64),
    "ubigint": Kind("integer", 65),
    "float": Kind("floating", 32),
    "double": Kind("floating", 64),
    "varchar": Kind("text"),
    "uuid": Kind("text"),
    "enum": Kind("text"),
    "null": NOTHING,
    "blob": Kind("binary"),
    "date": Kind("date"),
    "time": Kind("time", 6),
    "time_ns": Kind("time", 9),
    "timestamp_s": Kind("timestamp", 6),
    "timestamp_ms": Kind("timestamp", 6),
    "timestamp": Kind("timestamp", 6),
    "timestamp_ns": Kind("timestamp", 9),
    "timestamp with time zone": Kind("instant", 6),
    "timestamptz_ns": Kind("instant", 9),
}
_WRITTEN = {kind: native.upper() for native, kind in _FLAT.items()} | {
    Kind("text"): "VARCHAR",
    NOTHING: "VARCHAR",
    Kind("timestamp", 6): "TIMESTAMP",
}
_SALT = "7"


def columns_of(relation: Any) -> list[Column]:
    """Return the columns of a relation."""
    pairs = zip(relation.columns, relation.types, strict=True)
    return [Column(name, kind_of(native), str(native)) for name, native in pairs]


def kind_of(native: Any) -> Kind | None:
    """Return the kind of a DuckDB type, or None for one that is not compared."""
    if native.id == "decimal":
        digits, scale = (int(value) for _, value in native.children)
        return Kind("decimal", digits, scale)
    if native.id in ("list", "array"):
        return _nested("list", [("element", native.children[0][1])])
    if native.id in ("struct", "map"):
        return _nested(native.id, native.children)
    return _FLAT.get(native.id)


def _nested(name: str, children: list[tuple[str, Any]]) -> Kind | None:
    parts = [(part, kind_of(native)) for part, native in children]
    if not all(kind for _, kind in parts):
        return None
    return Kind(name, parts=tuple((part, kind) for part, kind in parts if kind))


def written(kind: Kind) -> str:
    """Return the kind as a type of DuckDB's SQL."""
    if kind.name == "decimal":
        return f"DECIMAL({kind.digits},{kind.scale})"
    if kind.name == "list":
        return f"{written(kind.parts[0][1])}[]"
    if kind.name == "map":
        return f"MAP({written(kind.parts[0][1])}, {written(kind.parts[1][1])})"
    if kind.name == "struct":
        inner = ", ".join(f"{quoted(name)} {written(part)}" for name, part in kind.parts)
        return f"STRUCT({inner})"
    return _WRITTEN[kind]


def canonical(column: Column, kind: Kind) -> str:
    """Return the SQL that reads a column as this kind, with a map's entries in the order of keys.

    Spark writes instants as INT96, which DuckDB reads as UTC without a zone.
    """
    value = quoted(column.name)
    if column.native != written(kind):
        value = f"{value}::{written(kind)}"
    return _sorted(value, kind) if kind.has_map else value


def _sorted(value: str, kind: Kind, depth: int = 0) -> str:
    """Return a value with its maps, also nested ones, as sorted lists of entries."""
    if not kind.has_map:
        return value
    if kind.name == "struct":
        fields = ", ".join(
            f"{literal(name)}: {_sorted(f'({value}).{quoted(name)}', part, depth)}"
            for name, part in kind.parts
        )
        return f"case when {value} is not null then {{{fields}}} end"
    one = f"e{depth}"
    if kind.name == "list":
        inner = _sorted(one, kind.parts[0][1], depth + 1)
        return f"list_transform({value}, lambda {one}: {inner})"
    (_, key), (_, held) = kind.parts
    entry = (
        f"{{'key': {_sorted(f'({one}).key', key, depth + 1)}, "
        f"'value': {_sorted(f'({one}).value', held, depth + 1)}}}"
    )
    return f"list_sort(list_transform(map_entries({value}), lambda {one}: {entry}))"


def row_hashes(columns: Sequence[tuple[str, Kind]]) -> tuple[str, str]:
    """Return the SQL of both hashes of a row of these columns, each a name and its kind.

    The columns must be canonical: see `canonical`.
    """
    if not columns:
        return "0::ubigint", "0::ubigint"
    first = ", ".join(_value(name, kind, 1) for name, kind in columns)
    nulls = [f"{name} is null" for name, _ in columns]
    values = [_value(name, kind, 2) for name, kind in reversed(columns)]
    second = ", ".join([_SALT, *nulls, *values])
    return f"hash(hash({first}))", f"hash(hash({second}))"


def _value(name: str, kind: Kind, which: int, depth: int = 0) -> str:
    if kind.name == "binary":
        return name if which == 1 else f"('abcd'::blob || {name})"
    if _is_wide(kind):
        name = f"{name}::varchar"
    elif kind.parts:
        return _nested_hash(name, kind, which, depth)
    elif kind.name != "text":
        return name
    return name if which == 1 else f"('abcd' || {name})"


def _is_wide(kind: Kind) -> bool:
    """Whether DuckDB stores the kind in 128 bits."""
    return kind.name == "decimal" and kind.digits > 18


def _nested_hash(name: str, kind: Kind, which: int, depth: int) -> str:
    if kind.name == "struct":
        fields = [
            (f"({name})." + f'"{part.replace(chr(34), chr(34) * 2)}"', k) for part, k in kind.parts
        ]
        inner = ", ".join(_hashed(field, k, which, depth) for field, k in fields)
        return f"hash({_SALT}, {name} is null, {inner})"
    one = f"x{depth}"
    if kind.name == "list":
        inner = _hashed(one, kind.parts[0][1], which, depth + 1)
    else:
        (_, key), (_, held) = kind.parts
        parts = (
            _hashed(f"({one}).key", key, which, depth + 1),
            _hashed(f"({one}).value", held, which, depth + 1),
        )
        inner = f"hash({', '.join(parts)})"
    items = f"list_transform({name}, lambda {one}: {inner})"
    return f"hash({_SALT}, coalesce(len({name}), -1), {items})"


def _hashed(name: str, kind: Kind, which: int, depth: int) -> str:
    """Return the hash of a part, in which NULL differs from every value."""
    return f"hash({name} is null, {_value(name, kind, which, depth)})"
