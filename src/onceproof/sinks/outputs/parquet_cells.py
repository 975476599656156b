"""Columns of parquet in the types that are compared: exactly, or not at all.

Arrow casts a truth or a moment to a number without a word, and rounds a decimal to a double.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onceproof.sinks.exact_cells import exact


def cells_of(name: str, found: Any, kind: str, wanted: Any) -> Any:
    """Return a column as this type of Arrow's; raises `ValueError` where that would bend values."""
    import pyarrow as pa

    if pa.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    if not (pa.types.is_null(found.type) or _is_held(found.type, kind)):
        raise ValueError(
            f"column {name} is {found.type}, and {kind} is expected: let the job write it as that,"
            " or write another type, or string, into the scenario's columns"
        )
    if kind == "double" and pa.types.is_decimal(found.type):
        return pa.array([exact(name, one, kind) for one in found.to_pylist()], wanted)
    if pa.types.is_timestamp(found.type) and pa.types.is_timestamp(wanted):
        found = found.cast(pa.timestamp("us", found.type.tz))  # Spark's own are UTC, unsaid
    return found.cast(wanted)


def _is_held(found: Any, kind: str) -> bool:
    """Whether a type takes values of another to the last digit, or else Arrow refuses them."""
    from pyarrow import types

    holds: Mapping[str, tuple[Callable[[Any], bool], ...]] = {
        "bigint": (types.is_integer,),
        "int": (types.is_integer,),
        "double": (types.is_integer, types.is_floating, types.is_decimal),
        "boolean": (types.is_boolean,),
        "timestamp": (types.is_timestamp, types.is_date),
    }
    return any(is_one(found) for is_one in holds.get(kind, (lambda _: True,)))
