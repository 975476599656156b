"""The comparison on one machine: three steps, of which most comparisons need only the first.

1. Fingerprints: rows fall into buckets by the hash of their key; a bucket's fingerprint is its
   number of rows and the sums of two hashes of them. If all agree, the sides are equal.
2. Keys: the rows of the buckets that differ are taken out, grouped by key and value, and counted.
   Where that is more than memory likes, they are written to disk by ranges of buckets first, and
   each range is counted alone.
3. Details: real values of the first differing keys of every class, from the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.comparison.columns import Plan
from onceproof.comparison.found import CLASSES, Found
from onceproof.comparison.on_duckdb.hashes import row_hashes
from onceproof.comparison.on_duckdb.keys import Keys
from onceproof.comparison.on_duckdb.kinds import canonical, quoted
from onceproof.comparison.on_duckdb.parquet import PLACE, Source
from onceproof.database import literal

BUCKETS = 1 << 16
# What a row of a differing bucket takes while it is examined, roughly; above it, DuckDB spills.
_BYTES_A_ROW = 256
_FEWEST_ROWS = 100_000
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """A side as the steps read it: its columns renamed, so that no name can be in the way.

    `c0`, `c1` ... are the compared columns in their canonical form, `f` and `n` the row's place.
    """

    name: str
    source: Source
    plan: Plan

    @property
    def compared(self) -> str:
        """The compared columns only: the first step reads no other."""
        return f"(select {', '.join(self._canonical())} from {self.source.sql})"

    @property
    def placed(self) -> str:
        """The compared columns, and where the row stands."""
        place = f"{PLACE[0]} as f, {PLACE[1]} as n"
        return f"(select {', '.join(self._canonical())}, {place} from {self.source.sql})"

    @property
    def rows(self) -> str:
        """The rows as they stand, and where."""
        fields = ", ".join(f"{literal(c.name)}: {quoted(c.name)}" for c in self.source.columns)
        place = f"{PLACE[0]} as f, {PLACE[1]} as n"
        return f"(select {{{fields}}} as line, {place} from {self.source.sql})"

    def _canonical(self) -> list[str]:
        pairs = (*self.plan.key, *self.plan.exact, *self.plan.near)
        columns = ((pair.expected if self.name == "expected" else pair.observed) for pair in pairs)
        return [
            f"{canonical(column, pair.kind)} as c{i}"
            for i, (column, pair) in enumerate(zip(columns, pairs, strict=True))
        ]


def find(
    connection: Any,
    sides: tuple[Side, Side],
    memory_bytes: int,
    of_each: int,
    scratch: Path,
    progress: Progress,
) -> Found:
    """Compare both sides and keep details of the first `of_each` differing keys of every class.

    What does not fit into memory goes to the scratch folder.
    """
    plan = sides[0].plan
    progress("fingerprints of all rows")
    _fingerprint(connection, sides)
    expected, observed, differing = connection.execute(
        "select coalesce(sum(expected), 0)::bigint, coalesce(sum(observed), 0)::bigint, "
        "coalesce(sum(expected + observed) filter (differs), 0)::bigint from fingerprints"
    ).fetchone()
    counts = dict.fromkeys(CLASSES, 0)
    if not differing:
        return Found(expected, observed, counts, None)
    progress(f"{differing:,} rows in question")
    keys = Keys(sides, bucket_of(plan), of_each)
    at_once = max(_FEWEST_ROWS, memory_bytes // _BYTES_A_ROW)
    parts = min(BUCKETS, -(-differing // at_once))
    keys.take(connection, _bits(connection), parts, scratch)
    for part in range(parts):
        progress(f"keys of {differing:,} rows, part {part + 1} of {parts}")
        for one, rows in keys.examine(connection, part).items():
            counts[one] += rows
    progress("details")
    return Found(expected, observed, counts, keys.details(connection))


def bucket_of(plan: Plan) -> str:
    """Return the SQL of a row's bucket, a number below `BUCKETS`."""
    key = ", ".join(f"c{i}" for i in range(len(plan.key)))
    return f"(hash({key}) >> 48)::usmallint"


def _fingerprint(connection: Any, sides: tuple[Side, Side]) -> None:
    plan = sides[0].plan
    pairs = (*plan.key, *plan.exact, *plan.near)
    first, second = row_hashes([(f"c{i}", pair.kind) for i, pair in enumerate(pairs)])
    of_side = (
        "(select bucket, count(*) as n, sum((h1 >> 1)::bigint) as s1, "
        f"sum((h2 >> 1)::bigint) as s2 from (select {bucket_of(plan)} as bucket, "
        f"{first} as h1, {second} as h2 from {side.compared}) group by bucket)"
        for side in sides
    )
    connection.execute(
        "create or replace temp table fingerprints as select bucket, coalesce(e.n, 0) as expected, "
        "coalesce(o.n, 0) as observed, (e.n, e.s1, e.s2) is distinct from (o.n, o.s1, o.s2) "
        f"as differs from {next(of_side)} e full join {next(of_side)} o using (bucket)"
    )


def _bits(connection: Any) -> str:
    """Return which buckets differ, as a string of bits."""
    bits = bytearray(b"0" * BUCKETS)
    for (bucket,) in connection.execute("select bucket from fingerprints where differs").fetchall():
        bits[bucket] = ord("1")
    return bits.decode()
