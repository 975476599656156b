"""Rows as mappings, from whoever has them, as Arrow rows in the columns that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.sinks.exact_cells import exact
from onceproof.sinks.files.parquet_rows import WROTE, schema


def batch_of(target: Target, rows: Iterable[Mapping[str, Any]], where: str) -> Any:
    """Return mappings as one batch of Arrow; what a row has not is null.

    Raises `StackError` for a value that its column does not hold exactly.
    """
    import pyarrow as pa

    found = list(rows)
    wanted = schema(target)
    if found and (missing := [one for one in target.key if all(one not in row for row in found)]):
        raise StackError(
            f"no row of {where} has the key {missing[0]}: they have {', '.join(found[0])}"
        )
    try:
        cells = [
            pa.array(
                [exact(name, _plain(row.get(name)), kind) for row in found], wanted.field(name).type
            )
            for name, kind in target.columns.items()
        ]
    except (ValueError, TypeError, pa.ArrowException) as error:
        said = " ".join(str(error).split())
        raise StackError(f"{where} holds a value that does not fit its column: {said}") from None
    return unsigned(cells, len(found), target)


def unsigned(cells: list[Any], rows: int, target: Target) -> Any:
    """Return cells as a batch of rows of which nobody knows who wrote them."""
    import pyarrow as pa

    return pa.record_batch([*cells, *(pa.nulls(rows, pa.int64()) for _ in WROTE)], schema(target))


def _plain(value: Any) -> Any:
    """Return what numpy holds as Python's own."""
    return value.tolist() if type(value).__module__ == "numpy" else value
