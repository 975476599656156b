"""Steps two and three on DuckDB: which keys of some buckets differ, how, and what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from onceproof.judge.columns import Pair
from onceproof.judge.duckdb_hashes import row_hashes
from onceproof.judge.duckdb_kinds import literal
from onceproof.judge.duckdb_text import listed
from onceproof.judge.found import CLASSES, COUNTS, ROWS_PER_KEY

if TYPE_CHECKING:
    from onceproof.judge.duckdb_steps import Side


class Keys:
    """The rows of the buckets that differ, taken once, counted part by part.

    A part is a range of buckets, so all rows of a key are in one.
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
        """Take the rows of the buckets whose bit is set: one part stays in memory, more on disk."""
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
        """Count the differences of a part, and keep the places of what details will show."""
        for side, folder in zip(self.sides, self.folders, strict=False):
            files = [str(path) for path in (folder / f"part={part}").glob("*")]
            rows = self._rows(side) + " limit 0"
            if files:
                rows = f"from read_parquet({listed(files)}, hive_partitioning=false)"
            connection.execute(f"create or replace temp view rows_{side.name} as {rows}")
        key = ", ".join(self.key)
        connection.execute(
            f"create or replace temp table differing as select *, "
            f"{', '.join(f'{sql} as {one}' for one, sql in COUNTS.items())} from (select {key}, "
            f"sum(a)::bigint as e, sum(z)::bigint as o, sum(least(a, z))::bigint as m from "
            f"(select {key}, count(*) filter (w = 1) as a, count(*) filter (w = -1) as z "
            f"from {self._clustered(self._both())} group by {self._same()}) group by {key}) "
            "where e <> o or m <> e"
        )
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
        """Return the rows of both sides, with where they came from."""
        columns = ", ".join([*self.key, "h1", "h2", *(name for name, _ in self._near())])
        halves = (
            f"select {w} as w, f, n, {columns} from rows_{side.name}"
            for side, w in zip(self.sides, (1, -1), strict=True)
        )
        return f"({' union all '.join(halves)})"

    def _same(self) -> str:
        """Return the columns by which rows of a key count as equal, the key first."""
        near = [f"{name}_{part}" for name, _ in self._near() for part in ("like", "step")]
        return ", ".join([*self.key, "h1", "h2", *near])

    def _clustered(self, rows: str) -> str:
        """Number the near values, so that rows of one number are within the tolerance.

        In the order of its values, a step begins where the distance to the one before is larger
        than the tolerance. NULL and NaN are near to nothing but themselves. Of equal values any
        may come first, so the sum takes in all of them (a frame by range, SQL's default).
        """
        within = [*self.key, "h1", "h2"]
        for name, pair in self._near():
            value = f"{name}::double" if pair.kind.name == "floating" else name
            wide = f"{name}::hugeint" if pair.kind.name == "integer" else value
            nan = f"when isnan({value}) then 1 " if pair.kind.name == "floating" else ""
            like, step = f"{name}_like", f"{name}_step"
            rows = (
                f"(select *, case when {name} is null then 0 {nan}else 2 end as {like}, "
                f"{wide} as {name}_wide from {rows})"
            )
            within.append(like)
            over = f"over (partition by {', '.join(within)} order by {name}_wide"
            before = f"lag({name}_wide) {over})"
            near = (
                f"{name}_wide = {before} or ({name}_wide - {before})::double <= {pair.tolerance!r}"
            )
            rows = (
                f"(select *, sum(jump) {over}) as {step} from (select *, "
                f"case when {near} or {name} is null then 0 else 1 end as jump from {rows}))"
            )
            rows = f"(select * exclude (jump) from {rows})"
            within.append(step)
        return rows

    def _gather(self, connection: Any) -> None:
        """Keep the lowest differing keys of every class, and where those of their rows stand.

        Only rows that have no equal on the other side are kept, and of a key a few.
        """
        order = ", ".join(f"{name} nulls first" for name in self.key)
        lowest = " union all ".join(
            f"(select '{one}' as class, {one} as rows, * from differing where {one} > 0 "
            f"order by {order} limit {self.of_each})"
            for one in CLASSES
        )
        connection.execute(f"create or replace temp table lowest as {lowest}")
        of_these = f"(select x.* from {self._both()} x semi join lowest on {self._equal('lowest')})"
        shown = (
            f"select w, f, n, h1, h2, {', '.join(self.key)} from (select *, "
            "count(*) filter (w = 1) over same as a, count(*) filter (w = -1) over same as z "
            f"from {self._clustered(of_these)} window same as (partition by {self._same()})) "
            "where a <> z qualify row_number() over "
            f"(partition by w, {', '.join(self.key)} order by h1, h2, f, n) <= {ROWS_PER_KEY}"
        )
        for table, rows in (("picked", "from lowest"), ("shown", shown)):
            verb = "insert into" if self.has_details else "create or replace temp table"
            connection.execute(f"{verb} {table} {'' if self.has_details else 'as '}{rows}")
        self.has_details = True

    def _lists(self, side: Side) -> str:
        """Return the join that adds a side's rows, read once more where they stand."""
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
