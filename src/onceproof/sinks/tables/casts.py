"""How a column of a table is read as the type that is compared: to the last digit, or not at all.

PostgreSQL rounds what it casts: 10.99 as an int8 is 11, and compares equal with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.errors import StackError

# Spark's name of a type, and PostgreSQL's.
TYPES = {
    "bigint": "int8",
    "int": "int4",
    "string": "text",
    "double": "float8",
    "boolean": "bool",
    "timestamp": "timestamptz",
}
_WHOLE = ("int2", "int4", "int8")
# Which types of a table each of ours holds; of an int8 as an int4, PostgreSQL refuses too large
# ones. Text takes any value, as PostgreSQL writes it.
_HELD = {
    "int8": _WHOLE,
    "int4": _WHOLE,
    "float8": ("float4", "float8", "int2", "int4"),
    "bool": ("bool",),
    "timestamptz": ("timestamptz", "timestamp", "date"),
}
# Those that a float8 holds only if it is that value again when it is cast back.
_BACK = {"int8": "{}::float8::int8", "numeric": "{}::float8::text::numeric"}
_OURS = {theirs: ours for ours, theirs in TYPES.items()}


def castings(connection: Any, table: Any, called: str, wanted: Mapping[str, str]) -> Any:
    """Return a table's columns as these types, or raise `StackError` for one that would bend."""
    from psycopg import sql

    names = sql.SQL(", ").join(map(sql.Identifier, wanted))
    nothing = sql.SQL("select {} from {} limit 0").format(names, table)
    held = [one.type_display for one in connection.execute(nothing).description]
    pairs = zip(held, wanted.items(), strict=True)
    return sql.SQL(", ").join(casting(called, name, of, to) for of, (name, to) in pairs)


def casting(table: str, name: str, held: str, wanted: str) -> Any:
    """Return a column of the type that is held as the one that is wanted, or raise `StackError`."""
    from psycopg import sql

    column = sql.Identifier(name)
    kind = held if held.endswith("]") else held.partition("(")[0]
    cast = sql.SQL("{}::{}").format(column, sql.SQL(wanted))
    if wanted == "text" or kind in _HELD[wanted]:
        return cast
    if wanted == "float8" and kind in _BACK:
        back = sql.SQL(_BACK[kind]).format(column)
        said = sql.SQL("concat({}, {})").format(
            sql.Literal(f"column {name} is {held}, which a double does not hold: "), column
        )
        return sql.SQL(
            "case when {column} is null or {back} = {column} then {cast} else {said}::float8 end"
        ).format(column=column, back=back, cast=cast, said=said)
    raise StackError(
        f"column {name} of {table} is {held}, and {_OURS[wanted]} is expected: let the job write it"
        " as that, or write another type, or string, into the scenario's columns"
    )
