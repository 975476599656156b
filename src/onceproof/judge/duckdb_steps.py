"""The comparison on one machine: three steps, of which most comparisons need only the first.

1. Fingerprints: rows fall into buckets by the hash of their key; a bucket's fingerprint is its
   number of rows and the sums of two hashes of them. If all agree, the sides are equal.
2. Keys: the rows of the buckets that differ are taken out, grouped by key and value, and counted.
   Where that is more than memory likes, it goes range by range of the buckets.
3. Details: real values of the first differing keys of every class, from the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onceproof.judge.columns import Plan
from onceproof.judge.duckdb_hashes import row_hashes
from onceproof.judge.duckdb_keys import Round
from onceproof.judge.duckdb_kinds import canonical, literal, quoted
from onceproof.judge.duckdb_sides import PLACE, Source
from onceproof.judge.found import CLASSES, Found

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
    *,
    memory_bytes: int,
    of_each: int,
    progress: Progress,
) -> Found:
    """Compare both sides and keep details of the first `of_each` differing keys of every class."""
    plan = sides[0].plan
    progress("fingerprints of all rows")
    _fingerprint(connection, sides)
    expected, observed, differing = connection.execute(
        "select coalesce(sum(expected), 0)::bigint, coalesce(sum(observed), 0)::bigint, "
        "coalesce(sum(expected + observed) filter (differs), 0)::bigint from fingerprints"
    ).fetchone()
    counts = dict.fromkeys(CLASSES, 0)
    details = None
    if differing:
        step = Round(sides, plan, bucket_of(plan), of_each)
        for number, (bits, of) in enumerate(_ranges(connection, differing, memory_bytes), 1):
            progress(f"keys of the {differing:,} rows in question, range {number} of {of}")
            for one, rows in step.examine(connection, bits).items():
                counts[one] += rows
        details = step.details(connection)
    return Found(expected, observed, counts, details)


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


def _ranges(connection: Any, differing: int, memory_bytes: int) -> list[tuple[str, int]]:
    """Return the differing buckets as strings of bits, each a range that fits into memory."""
    at_once = max(_FEWEST_ROWS, memory_bytes // _BYTES_A_ROW)
    of = min(BUCKETS, -(-differing // at_once))
    found = connection.execute("select bucket from fingerprints where differs").fetchall()
    bits = [bytearray(b"0" * BUCKETS) for _ in range(of)]
    for (bucket,) in found:
        bits[bucket * of // BUCKETS][bucket] = ord("1")
    return [(one.decode(), of) for one in bits]
