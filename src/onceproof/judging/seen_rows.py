"""The rows of a reader's last poll, compared with the rows read at the end.

Readers of tables let PostgreSQL write the texts of `reads/`, others Python: the same values in two
spellings. So both are parsed and normalized by the types of their columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onceproof.errors import EvidenceError
from onceproof.runs.ledger import parquet_files, row_hash
from onceproof.sinks.files.parquet_rows import WROTE

_AS_THEY_ARE = ("bigint", "int", "string", "boolean")


@dataclass(frozen=True)
class Shape:
    """Columns with their types, key and version of the rows that a reader sees."""

    columns: Mapping[str, str]
    key: Sequence[str]
    version: str | None

    @property
    def texts(self) -> tuple[list[str], list[str]]:
        """The columns of `key` and of `value` in `reads/`, in their order."""
        return list(self.key), [name for name in self.columns if name not in self.key]

    def polled(self, rows: Iterable[Sequence[Any]]) -> int:
        """Return the sum of a hash of each row: key, value, version, batch, attempt, and copies."""
        of_key, of_value = ([self.columns[name] for name in names] for names in self.texts)
        total = 0
        for key, value, version, batch, attempt, copies in rows:
            cells = (*_parsed(key, of_key), *_parsed(value, of_value))
            total += row_hash((*cells, version, batch, attempt)) * copies
        return total % (1 << 128)

    def observed(self, folder: Path) -> int:
        """Return the same sum for the rows of `observed/`."""
        import pyarrow.parquet as parquet

        total = 0
        for path in parquet_files(folder):
            for some in parquet.ParquetFile(path).iter_batches():
                total += sum(map(row_hash, zip(*self._cells(some), strict=True)))
        return total % (1 << 128)

    def _cells(self, rows: Any) -> list[Sequence[Any]]:
        of_key, of_value = self.texts
        nothing: list[Any] = [None] * rows.num_rows
        there = {
            name: cell.to_pylist()
            for name, cell in zip(rows.schema.names, rows.columns, strict=True)
        }
        if missing := [name for name in self.columns if name not in there]:
            raise EvidenceError(
                f"observed/ has no column {missing[0]}, but the plan's reference does"
            )
        cells = [_plain(there[name], self.columns[name]) for name in (*of_key, *of_value)]
        version = there[self.version] if self.version else nothing
        return [*cells, version, *(there.get(name, nothing) for name in WROTE)]


def _plain(cells: Sequence[Any], kind: str) -> Sequence[Any]:
    if kind in _AS_THEY_ARE:
        return cells
    if kind == "double":
        return [_cell(cell, kind) for cell in cells]
    return [_cell(json.loads(json.dumps(cell, default=str)), kind) for cell in cells]


def _parsed(text: str, kinds: Sequence[str]) -> list[Any]:
    """Return the cells of one text of `reads/`, equal for every writer."""
    try:
        cells = json.loads(text)
        return [_cell(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
    except (ValueError, TypeError):
        raise EvidenceError(
            f"reads/ has {text[:100]!r}, which no reader of this sink writes"
        ) from None


def _cell(cell: Any, kind: str) -> Any:
    if cell is None or kind in _AS_THEY_ARE:
        return cell
    if kind == "double":  # PostgreSQL writes 1 for 1.0, and "NaN" in quotes
        return float(cell) + 0.0
    if kind == "timestamp":
        return datetime.fromisoformat(cell).astimezone(UTC).isoformat()
    return cell
