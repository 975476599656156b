"""The rows that a reader saw last, held against those that were read at the end.

Readers of tables let PostgreSQL write the texts of `reads/`, others Python: the same values in two
spellings. So both are parsed, and made one text by the types of their columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onceproof.errors import EvidenceError
from onceproof.ledger import parquet_files, row_hash
from onceproof.sinks import Target
from onceproof.sinks.folder_reader import shown
from onceproof.sinks.parquet_rows import WROTE

_CHUNK = 20_000
# Of a row of `reads/`: what tells it from others.
ROW = ("key", "value", "version", "batch", "attempt")


@dataclass(frozen=True)
class Shape:
    """Columns with their types, key and version of the rows that a reader sees."""

    columns: Mapping[str, str]
    key: Sequence[str]
    version: str | None

    def digest(self, rows: Iterable[Sequence[Any]]) -> int:
        """Return the sum of a hash of each row, so many times as its last cell says."""
        kinds = [
            [self.columns[name] for name in names]
            for names in (self.key, [name for name in self.columns if name not in self.key])
        ]
        total = 0
        for key, value, version, batch, attempt, copies in rows:
            texts = (_plain(text, of) for text, of in zip((key, value), kinds, strict=True))
            total += row_hash((*texts, version, batch, attempt)) * copies
        return total % (1 << 128)

    def observed(self, folder: Path) -> int:
        """Return the digest of the rows of `observed/`, as a reader would have seen them."""
        import pyarrow.parquet as parquet

        target = Target("", "", self.columns, tuple(self.key), self.version)
        total = 0
        for path in parquet_files(folder):
            for some in parquet.ParquetFile(path).iter_batches(batch_size=_CHUNK):
                rows = shown(_signed(some), target).select(list(ROW)).to_pylist()
                total += self.digest((*row.values(), 1) for row in rows)
        return total % (1 << 128)


def _signed(rows: Any) -> Any:
    """Return rows with who wrote them; null where the sink does not tell."""
    import pyarrow as pa

    for name in WROTE:
        if name not in rows.schema.names:
            rows = rows.append_column(name, pa.nulls(rows.num_rows, pa.int64()))
    return rows


def _plain(text: str, kinds: Sequence[str]) -> list[Any]:
    """Return the cells of one text of `reads/`, alike whoever wrote it."""
    try:
        cells = json.loads(text)
        return [_cell(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
    except (ValueError, TypeError):
        raise EvidenceError(
            f"reads/ holds {text[:100]!r}, which no reader of this sink writes"
        ) from None


def _cell(cell: Any, kind: str) -> Any:
    if cell is None:
        return None
    if kind == "double":  # PostgreSQL writes 1 for 1.0, and "NaN" in quotes
        return float(cell) + 0.0
    if kind == "timestamp":
        return datetime.fromisoformat(cell).astimezone(UTC).isoformat()
    return cell
