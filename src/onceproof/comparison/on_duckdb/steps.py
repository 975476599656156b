"""The comparison on one machine: three steps, of which most comparisons need only the first.

1. Fingerprints: rows fall into buckets by the hash of their key; a bucket's fingerprint is its
   number of rows and the sums of two hashes of them. If all agree, the sides are equal.
2. Keys: the rows of the buckets that differ are selected, grouped by key and value, and counted.
   If they exceed the memory, they are written to disk by ranges of buckets first, and each range
   is counted separately.
3. Details: real values of the first differing keys of every class, from the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.comparison.columns import Pair, Plan, cell_columns
from onceproof.comparison.on_duckdb.kinds import canonical, row_hashes
from onceproof.comparison.on_duckdb.near import cell, is_chain, near_values, paired, stepped
from onceproof.comparison.on_duckdb.parquet import PLACE, Source
from onceproof.comparison.result import CLASSES, COUNTS, ROWS_PER_KEY, Result
from onceproof.database import literal, quoted, read_parquet

BUCKETS = 1 << 16
# The approximate memory of a row of a differing bucket; above it, DuckDB spills to disk.
_BYTES_A_ROW = 256
_FEWEST_ROWS = 100_000
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """A side as the steps read it, with renamed columns to avoid name clashes.

    `c0`, `c1` ... are the compared columns in their canonical form, `f` and `n` the row's place.
    """

    name: str
    source: Source
    plan: Plan

    @property
    def compared(self) -> str:
        """The compared columns: the first step reads no other."""
        return f"(select {', '.join(self._canonical())} from {self.source.sql})"

    @property
    def placed(self) -> str:
        """The compared columns, and the row's place."""
        place = f"{PLACE[0]} as f, {PLACE[1]} as n"
        return f"(select {', '.join(self._canonical())}, {place} from {self.source.sql})"

    @property
    def rows(self) -> str:
        """The original rows, and their places."""
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
) -> Result:
    """Compare both sides and keep details of the first `of_each` differing keys of every class.

    Data that does not fit into memory goes to the scratch folder.
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
        return Result(expected, observed, counts, None)
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
    return Result(expected, observed, counts, keys.details(connection))


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
    """Return the differing buckets as a string of bits."""
    bits = bytearray(b"0" * BUCKETS)
    for (bucket,) in connection.execute("select bucket from fingerprints where differs").fetchall():
        bits[bucket] = ord("1")
    return bits.decode()


class Keys:
    """The rows of the differing buckets, selected once and counted part by part.

    A part is a range of buckets, so that all rows of a key are in one part.
    """

    def __init__(self, sides: tuple[Side, Side], bucket: str, of_each: int) -> None:
        self.sides = sides
        self.plan = sides[0].plan
        self.bucket = bucket
        self.of_each = of_each
        self.key = [f"c{i}" for i in range(len(self.plan.key))]
        self.folders: list[Path] = []
        self.has_details = False

    def take(self, connection: Any, bits: str, parts: int, scratch: Path) -> None:
        """Select the rows of the buckets whose bit is set: one part in memory, several on disk."""
        connection.execute("set variable wanted = ?::bit", [bits])
        for side in self.sides:
            if parts == 1:
                connection.execute(f"create temp table rows_{side.name} as {self._rows(side)}")
            else:
                folder = scratch / f"{side.name}_parts"
                part = f"({self.bucket}::int * {parts} // {len(bits)})"
                connection.execute(
                    f"copy ({self._rows(side, f', {part} as part')}) to {literal(str(folder))} "
                    "(format parquet, partition_by (part), compression uncompressed)"
                )
                self.folders.append(folder)

    def examine(self, connection: Any, part: int) -> dict[str, int]:
        """Count the differences of a part, and keep the places of the rows for details."""
        for side, folder in zip(self.sides, self.folders, strict=False):
            files = [str(path) for path in (folder / f"part={part}").glob("*")]
            rows = self._rows(side) + " limit 0"
            if files:
                rows = f"from {read_parquet(files)}"
            connection.execute(f"create or replace temp view rows_{side.name} as {rows}")
        connection.execute(f"create or replace temp table differing as {self._differing()}")
        self._pair_chains(connection)
        sums = ", ".join(f"coalesce(sum({one}), 0)::bigint" for one in CLASSES)
        found = connection.execute(f"select {sums} from differing").fetchone()
        if any(found) and self.of_each:
            self._gather(connection)
        return dict(zip(CLASSES, found, strict=True))

    def details(self, connection: Any) -> Any:
        """Return the lowest differing keys of every class with their rows, as an Arrow table."""
        if not self.has_details:
            return None
        order = ", ".join(f"{name} nulls first" for name in self.key)
        connection.execute(
            "create or replace temp table final as select * from picked qualify "
            f"row_number() over (partition by class order by {order}) <= {self.of_each}"
        )
        names = (f"{literal(pair.name)}: final.c{i}" for i, pair in enumerate(self.plan.key))
        lists = " ".join(self._lists(side) for side in self.sides)
        return connection.sql(
            f"select class, rows, {{{', '.join(names)}}} as key, e as expected_rows, "
            "o as observed_rows, coalesce(expected.lines, []) as expected, "
            f"coalesce(observed.lines, []) as observed from final {lists} order by "
            f"list_position({list(CLASSES)}, class), "
            + ", ".join(f"final.{name} nulls first" for name in self.key)
        ).to_arrow_table()

    def _rows(self, side: Side, also: str = "") -> str:
        """Return a side's rows of these buckets: key, hashes of exact values, near ones, place."""
        start = len(self.key)
        exact = [(f"c{start + i}", pair.kind) for i, pair in enumerate(self.plan.exact)]
        first, second = row_hashes(exact)
        near = "".join(f", {name}" for name, _ in self._near())
        return (
            f"select {', '.join(self.key)}, {first} as h1, {second} as h2{near}, f, n{also} "
            f"from {side.placed} where get_bit(getvariable('wanted'), {self.bucket}::int) = 1"
        )

    def _near(self) -> list[tuple[str, Pair]]:
        start = len(self.key) + len(self.plan.exact)
        return [(f"c{start + i}", pair) for i, pair in enumerate(self.plan.near)]

    def _both(self) -> str:
        columns = ", ".join([*self.key, "h1", "h2", *(name for name, _ in self._near())])
        halves = (
            f"select {w} as w, f, n, {columns} from rows_{side.name}"
            for side, w in zip(self.sides, (1, -1), strict=True)
        )
        return f"({' union all '.join(halves)})"

    def _differing(self, rows: str = "", *, by_one: bool = False) -> str:
        """Return the SQL of the keys that differ, and of those with a cell that is a chain.

        The pairs of a chain are counted exactly if `by_one`, else as if all its rows were near.
        """
        key, near = ", ".join(self.key), self._near()
        kept = cell(near) + (near_values(near) if by_one else "")
        same, chain = (paired(near), "false") if by_one else ("least(a, z)", is_chain(near))
        return (
            f"select *, {', '.join(f'{sql} as {one}' for one, sql in COUNTS.items())} from (select "
            f"{key}, sum(a)::bigint as e, sum(z)::bigint as o, sum({same})::bigint as m, "
            f"bool_or({chain}) as chained from (select {key}, {kept} "
            f"from {self._stepped(rows or self._both())} group by {self._cells()}) group by {key}) "
            "where e <> o or m <> e or chained"
        )

    def _pair_chains(self, connection: Any) -> None:
        """Count the keys with a chain again, exactly: all keys have too many values to list."""
        chained = "(from differing where chained)"
        if self._near() and connection.execute(f"from {chained} limit 1").fetchone():
            rows = f"(select x.* from {self._both()} x semi join {chained} c on {self._equal('c')})"
            again = self._differing(rows, by_one=True)
            connection.execute(f"create or replace temp table counted as {again}")
            connection.execute("delete from differing where chained")
            connection.execute("insert into differing from counted")

    def _cells(self) -> str:
        """Return the columns in which equal rows agree, the key first."""
        return ", ".join([*self.key, "h1", "h2", *cell_columns(self._near())])

    def _stepped(self, rows: str) -> str:
        return stepped(rows, [*self.key, "h1", "h2"], self._near())

    def _gather(self, connection: Any) -> None:
        """Keep the lowest differing keys of every class, and the places of their rows.

        Only a few rows of a key are kept, and only those without an equal row on the other side.
        """
        order, near = ", ".join(f"{name} nulls first" for name in self.key), self._near()
        lowest = " union all ".join(
            f"(select '{one}' as class, {one} as rows, * from differing where {one} > 0 "
            f"order by {order} limit {self.of_each})"
            for one in CLASSES
        )
        connection.execute(f"create or replace temp table lowest as {lowest}")
        of_these = f"(select x.* from {self._both()} x semi join lowest on {self._equal('lowest')})"
        shown = (
            f"select w, f, n, h1, h2, {', '.join(self.key)} from (select *, "
            f"{cell(near, 'over cell')}{near_values(near, 'over cell')} "
            f"from {self._stepped(of_these)} "
            f"window cell as (partition by {self._cells()})) "
            f"where {paired(near)} < greatest(a, z) qualify row_number() over "
            f"(partition by w, {', '.join(self.key)} order by h1, h2, f, n) <= {ROWS_PER_KEY}"
        )
        for table, rows in (("picked", "from lowest"), ("shown", shown)):
            verb = "insert into" if self.has_details else "create or replace temp table"
            connection.execute(f"{verb} {table} {'' if self.has_details else 'as '}{rows}")
        self.has_details = True

    def _lists(self, side: Side) -> str:
        """Return the join that adds a side's rows, read again from their places."""
        w = 1 if side is self.sides[0] else -1
        key = ", ".join(f"x.{name}" for name in self.key)
        return (
            f"left join (select {key}, list(line order by h1, h2, x.f, x.n) as lines from "
            f"{side.rows} r join (from shown where w = {w}) x on r.f = x.f and r.n = x.n "
            f"group by {key}) {side.name} on {self._equal('final', side.name)}"
        )

    def _equal(self, one: str, other: str = "x") -> str:
        return " and ".join(
            f"{one}.{name} is not distinct from {other}.{name}" for name in self.key
        )
