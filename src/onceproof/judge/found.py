"""What a comparison finds, in the same words whichever engine looked."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLASSES = ("lost", "duplicated", "unexpected", "changed")
# How a key counts, in SQL: e and o are its rows in each side, m those with an equal on the other.
COUNTS = {
    "lost": "greatest(e - o, 0)",
    "duplicated": "case when e > 0 then greatest(o - e, 0) else 0 end",
    "unexpected": "case when e = 0 then o else 0 end",
    "changed": "least(e, o) - m",
}
# Of a key, how many rows of each side are shown or written.
ROWS_PER_KEY = 10


@dataclass(frozen=True)
class Found:
    """An engine's answer.

    `counts` are rows of each class. `details` is an Arrow table of the first differing keys of each
    class, one row for a class of a key: `class`, `rows`, `key`, `expected_rows`, `observed_rows`,
    and in `expected` and `observed` the rows that have no equal on the other side.
    """

    expected_rows: int
    observed_rows: int
    counts: Mapping[str, int]
    details: Any


@dataclass(frozen=True)
class Differences:
    """The answer to a comparison; `equal` is worth what two 64-bit hashes are: see docs/diff.md."""

    found: Found
    columns: Mapping[str, object]
    samples: list[dict[str, Any]]
    engine: str
    seconds: float

    @property
    def counts(self) -> Mapping[str, int]:
        """The rows of each class, zero included."""
        return self.found.counts

    @property
    def rows(self) -> Mapping[str, int]:
        """The rows of each side."""
        return {"expected": self.found.expected_rows, "observed": self.found.observed_rows}

    @property
    def equal(self) -> bool:
        """Whether both sides are the same multiset of rows."""
        return not any(self.counts.values())

    def document(self) -> dict[str, Any]:
        """Return what `onceproof diff --json` prints."""
        return {
            "equal": self.equal,
            "differences": dict(self.counts),
            "columns": dict(self.columns),
            "rows": dict(self.rows),
            "samples": self.samples,
            "engine": self.engine,
            "seconds": round(self.seconds, 3),
        }


def samples_of(details: Any, of_each: int) -> list[dict[str, Any]]:
    """Return the first differing keys of every class as plain values that JSON can hold.

    The details stand in the order of the classes. Arrow's own filter would load pandas for them,
    which takes as long as a million rows.
    """
    if details is None:
        return []
    classes = details["class"].to_pylist()
    starts = (classes.index(one) for one in CLASSES if one in classes)
    rows = (details.slice(start, min(of_each, classes.count(classes[start]))) for start in starts)
    return [_plain(row) for some in rows for row in some.to_pylist()]


def write_details(details: Any, folder: Path) -> None:
    """Write the details as parquet; nothing but the folder, where there are none."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "differences.parquet"
    target.unlink(missing_ok=True)
    if details is not None:
        pq.write_table(details, target)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what JSON cannot hold is its text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(held) for name, held in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dt.datetime) and value.tzinfo:
        value = value.astimezone(dt.UTC)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Iterable):
        return [_plain(held) for held in value]
    return str(value)
