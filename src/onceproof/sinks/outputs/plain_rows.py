"""Rows as mappings, from whoever has them, as Arrow rows in the columns that are compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.sinks.parquet_rows import WROTE, schema


def batch_of(target: Target, rows: Iterable[Mapping[str, Any]], where: str) -> Any:
    """Return mappings as one batch of Arrow; what a row has not is null."""
    import pyarrow as pa

    found = list(rows)
    wanted = schema(target)
    if found and (missing := [one for one in target.key if all(one not in row for row in found)]):
        raise StackError(
            f"no row of {where} has the key {missing[0]}: they have {', '.join(found[0])}"
        )
    try:
        cells = [
            pa.array([_cell(row.get(name), kind) for row in found], wanted.field(name).type)
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


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    match kind:
        case "string":
            return value if isinstance(value, str) else json.dumps(value, default=str)
        case "timestamp" if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        case "bigint" | "int":
            return int(value)
        case "double":
            return float(value)
    return value
