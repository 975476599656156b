"""The result of a comparison, the same for all engines."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLASSES = ("lost", "duplicated", "unexpected", "changed")
# The counts of a key in SQL: e and o are its rows in each side, m those with an equal row.
COUNTS = {
    "lost": "greatest(e - o, 0)",
    "duplicated": "case when e > 0 then greatest(o - e, 0) else 0 end",
    "unexpected": "case when e = 0 then o else 0 end",
    "changed": "least(e, o) - m",
}
# The most rows of each side that are shown or written for a key.
ROWS_PER_KEY = 10
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Result:
    """The result of an engine.

    `counts` are rows of each class. `details` is an Arrow table of the first differing keys of each
    class, one row for a class of a key: `class`, `rows`, `key`, `expected_rows`, `observed_rows`,
    and in `expected` and `observed` the rows without an equal row on the other side.
    """

    expected_rows: int
    observed_rows: int
    counts: Mapping[str, int]
    details: Any


@dataclass(frozen=True)
class Differences:
    """The result of a comparison; `equal` rests on two 64-bit hashes: docs/test-a-job/diff.md."""

    result: Result
    columns: Mapping[str, object]
    samples: list[dict[str, Any]]
    engine: str
    seconds: float

    @property
    def counts(self) -> Mapping[str, int]:
        """The rows of each class, zero included."""
        return self.result.counts

    @property
    def rows(self) -> Mapping[str, int]:
        """The rows of each side."""
        return {"expected": self.result.expected_rows, "observed": self.result.observed_rows}

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
    """Return the first differing keys of every class as values for JSON."""
    if details is None:
        return []
    classes = details["class"].to_pylist()
    starts = [classes.index(one) for one in CLASSES if one in classes]
    picked = [
        start + number
        for start in starts
        for number in range(min(of_each, classes.count(classes[start])))
    ]
    names = details.column_names
    return [{name: _plain(_held(details[name][row])) for name in names} for row in picked]


def write_details(details: Any, folder: Path) -> None:
    """Write the details as parquet; without details, create only the folder."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "differences.parquet"
    target.unlink(missing_ok=True)
    if details is not None:
        pq.write_table(details, target)


def _held(value: Any) -> Any:
    """Return an Arrow value as a Python value.

    For an instant Arrow would load pandas, which takes as long as comparing a million rows.
    """
    from pyarrow import types

    if not value.is_valid:
        return None
    if types.is_struct(value.type):
        return {name: _held(part) for name, part in value.items()}
    if types.is_map(value.type):
        return [[_held(part) for part in entry.values()] for entry in value.values]
    if types.is_list(value.type):
        return [_held(item) for item in value.values]
    if types.is_timestamp(value.type) and value.type.tz and value.type.unit == "us":
        return _EPOCH + dt.timedelta(microseconds=value.value)
    return value.as_py()


def _plain(value: Any) -> Any:
    """Return a value for JSON; a value without a JSON form becomes text."""
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
