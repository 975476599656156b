"""Rows of an output with all of its columns, in the types that the output itself has.

The comparison reads only the columns that a scenario declares, in declared types. A user's suite is
about the output as its other readers find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks.exact_cells import Digits, exact, plain

_NUMBERS = {int, float, Digits, Decimal}


def table_of(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> Any:
    """Return mappings as an Arrow table with all of their columns, and at least `columns`.

    A column is text where its values have several types; so are nested values, as JSON.
    """
    import pyarrow as pa

    names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    return pa.table({name: cells_of(name, [row.get(name) for row in rows]) for name in names})


def cells_of(name: str, values: Iterable[Any]) -> Any:
    """Return values as an Arrow column; raises `StackError` if they have no common type."""
    import pyarrow as pa

    found = [plain(one) for one in values]
    kinds = {type(one) for one in found if one is not None}
    is_nested = any(issubclass(kind, Mapping | list | tuple) for kind in kinds)
    if not is_nested and (len(kinds) < 2 or kinds <= _NUMBERS):
        try:
            return pa.array(found)
        except (pa.ArrowInvalid, OverflowError):
            pass  # numbers that no type of Arrow holds exactly: text
    try:
        return pa.array([exact(name, one, "string") for one in found], pa.string())
    except ValueError as error:
        raise StackError(f"column {name} cannot be read: {error}") from None


def write_table(rows: Any, folder: Path) -> None:
    """Write an Arrow table as one parquet file."""
    import pyarrow.parquet as parquet

    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(rows, folder / "rows.parquet")
