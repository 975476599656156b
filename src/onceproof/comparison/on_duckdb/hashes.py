"""Two independent 64-bit hashes of a row, from DuckDB's one.

DuckDB's hash is made for hash tables, and four of its habits would make different rows equal:

- text is mixed in blocks of 8 bytes whose high bits never reach the low ones: two texts that differ
  in their 8th and 16th byte only collide once in 256. The second hash reads the text four bytes
  later, so that what was high in its block is low;
- the two halves of 128-bit numbers (wide decimals among them) are joined by exclusive or: 0 and
  -0.01 collide. They are hashed as text;
- NULL, [] and [NULL], a struct of NULLs and NULL are one. Nested values bring their length and
  their NULLs along; and one bigint has the hash of NULL, so the second hash is told of NULLs;
- columns are joined by exclusive or: swapped between two rows, values leave a sum of the rows as it
  was once in 10^8 cases. The row's hash is hashed once more before it is summed.
"""

from __future__ import annotations

from collections.abc import Sequence

from onceproof.comparison.kinds import Kind

_SALT = "7"


def row_hashes(columns: Sequence[tuple[str, Kind]]) -> tuple[str, str]:
    """Return the SQL of both hashes of a row of these columns, each a name and its kind.

    The columns must be canonical: see `duckdb_kinds.canonical`.
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
        return _nested(name, kind, which, depth)
    elif kind.name != "text":
        return name
    return name if which == 1 else f"('abcd' || {name})"


def _is_wide(kind: Kind) -> bool:
    """Whether DuckDB holds it in 128 bits."""
    return kind.name == "decimal" and kind.digits > 18


def _nested(name: str, kind: Kind, which: int, depth: int) -> str:
    if kind.name == "struct":
        fields = [
            (f"({name})." + f'"{part.replace(chr(34), chr(34) * 2)}"', k) for part, k in kind.parts
        ]
        inner = ", ".join(_told(field, k, which, depth) for field, k in fields)
        return f"hash({_SALT}, {name} is null, {inner})"
    one = f"x{depth}"
    if kind.name == "list":
        inner = _told(one, kind.parts[0][1], which, depth + 1)
    else:
        (_, key), (_, held) = kind.parts
        parts = (
            _told(f"({one}).key", key, which, depth + 1),
            _told(f"({one}).value", held, which, depth + 1),
        )
        inner = f"hash({', '.join(parts)})"
    items = f"list_transform({name}, lambda {one}: {inner})"
    return f"hash({_SALT}, coalesce(len({name}), -1), {items})"


def _told(name: str, kind: Kind, which: int, depth: int) -> str:
    """Return the hash of a part, which knows a NULL from every value."""
    return f"hash({name} is null, {_value(name, kind, which, depth)})"
