"""Exact casts of a table's columns to the compared types; inexact casts are errors.

PostgreSQL rounds when it casts: 10.99 as an int8 is 11, and would compare equal with 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.errors import StackError

# PostgreSQL's names of types, by Spark's names.
TYPES = {
    "bigint": "int8",
    "int": "int4",
    "string": "text",
    "double": "float8",
    "boolean": "bool",
    "timestamp": "timestamptz",
}
_WHOLE = ("int2", "int4", "int8")
# The column types that each compared type holds exactly; PostgreSQL raises for an int8 that is too
# large for an int4. Text takes any value, as PostgreSQL writes it.
_HELD = {
    "int8": _WHOLE,
    "int4": _WHOLE,
    "float8": ("float4", "float8", "int2", "int4"),
    "bool": ("bool",),
    "timestamptz": ("timestamptz", "timestamp", "date"),
}
# Types that a float8 holds only if casting it back gives the same value.
_BACK = {"int8": "{}::float8::int8", "numeric": "{}::float8::text::numeric"}
_OURS = {theirs: ours for ours, theirs in TYPES.items()}


def castings(connection: Any, table: Any, called: str, wanted: Mapping[str, str]) -> Any:
    """Return a table's columns in these types; raises `StackError` if a cast is not exact."""
    from psycopg import sql

    names = sql.SQL(", ").join(map(sql.Identifier, wanted))
    nothing = sql.SQL("select {} from {} limit 0").format(names, table)
    held = [one.type_display for one in connection.execute(nothing).description]
    pairs = zip(held, wanted.items(), strict=True)
    return sql.SQL(", ").join(casting(called, name, of, to) for of, (name, to) in pairs)


def casting(table: str, name: str, held: str, wanted: str) -> Any:
    """Return a column of type `held` as type `wanted`; raises `StackError` if it is not exact."""
    from psycopg import sql

    column = sql.Identifier(name)
    kind = held if held.endswith("]") else held.partition("(")[0]
    cast = sql.SQL("{}::{}").format(column, sql.SQL(wanted))
    if wanted == "text" or kind in _HELD[wanted]:
        return cast
    if wanted == "float8" and kind in _BACK:
        back = sql.SQL(_BACK[kind]).format(column)
        problem = sql.SQL("concat({}, {})").format(
            sql.Literal(f"column {name} is {held}, which a double cannot hold exactly: "), column
        )
        return sql.SQL(
            "case when {column} is null or {back} = {column} then {cast} else {problem}::float8 end"
        ).format(column=column, back=back, cast=cast, problem=problem)
    raise StackError(
        f"column {name} of {table} is {held}, expected {_OURS[wanted]}; change the job, or write"
        " another type, or string, in the scenario's columns"
    )
