"""Which keys differ, how, and what they hold, on Spark.

Columns are named as on DuckDB: `c0`, `c1` ... the compared ones, `h1` and `h2` the hashes of those
that must be exact, `w` the side.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from onceproof.judge.columns import Plan
from onceproof.judge.found import CLASSES, COUNTS, ROWS_PER_KEY
from onceproof.judge.spark_kinds import canonical, row_hashes


class Keys:
    """The rows of both sides, brought together by key."""

    def __init__(self, expected: Any, observed: Any, plan: Plan) -> None:
        self.plan = plan
        self.key = [f"c{i}" for i in range(len(plan.key))]
        start = len(plan.key) + len(plan.exact)
        self.near = [(f"c{start + i}", pair) for i, pair in enumerate(plan.near)]
        near = [f"{name}_{part}" for name, _ in self.near for part in ("like", "step")]
        self.same = [*self.key, "h1", "h2", *near]
        self.sides = (self._read(expected, "expected", 1), self._read(observed, "observed", -1))

    def differing(self) -> Any:
        """Return the keys that differ, with their rows in each side and of each class."""
        from pyspark.sql import functions as F

        columns = ["w", *self.key, "h1", "h2", *(name for name, _ in self.near)]
        both = self.sides[0].select(columns).unionByName(self.sides[1].select(columns))
        rows = self._clustered(both.repartition(*self.key))
        values = rows.groupBy(*self.same).agg(
            F.count(F.when(F.col("w") > 0, 1)).alias("a"),
            F.count(F.when(F.col("w") < 0, 1)).alias("z"),
        )
        keys = values.groupBy(*self.key).agg(
            F.sum("a").alias("e"), F.sum("z").alias("o"), F.sum(F.least("a", "z")).alias("m")
        )
        counts = (F.expr(sql).alias(one) for one, sql in COUNTS.items())
        return keys.where("e <> o or m <> e").select("*", *counts)

    def details(self, differing: Any, of_each: int) -> Any:
        """Return the lowest differing keys of every class with their rows, as an Arrow table."""
        from pyspark.sql import functions as F

        order = [F.col(name).asc_nulls_first() for name in self.key]
        picked = reduce(
            lambda one, other: one.unionByName(other),
            (
                differing.where(F.col(one) > 0)
                .orderBy(*order)
                .limit(of_each)
                .select(F.lit(one).alias("class"), F.col(one).alias("rows"), *self.key, "e", "o")
                for one in CLASSES
            ),
        ).localCheckpoint()
        shown = picked
        marked = self._unequal(picked.select(*self.key).distinct())
        for side, w in (("expected", 1), ("observed", -1)):
            shown = self._with_lists(shown, marked[w], side)
        names = (F.col(self.key[i]).alias(pair.name) for i, pair in enumerate(self.plan.key))
        place = F.array_position(F.array(*map(F.lit, CLASSES)), F.col("class"))
        return (
            shown.orderBy(place, *order)
            .select(
                "class",
                "rows",
                F.struct(*names).alias("key"),
                F.col("e").alias("expected_rows"),
                F.col("o").alias("observed_rows"),
                "expected",
                "observed",
            )
            .toArrow()
        )

    def _read(self, frame: Any, side: str, w: int) -> Any:
        from pyspark.sql import functions as F

        pairs = (*self.plan.key, *self.plan.exact, *self.plan.near)
        row = F.struct(*(frame[_escaped(name)].alias(name) for name in frame.columns))
        columns = (canonical(frame[_escaped(pair.name)], pair.kind) for pair in pairs)
        rows = frame.select(*(one.alias(f"c{i}") for i, one in enumerate(columns)), row.alias(side))
        names = (f"c{i}" for i in range(len(self.key), len(self.key) + len(self.plan.exact)))
        exact = [
            (F.col(name), pair.kind) for name, pair in zip(names, self.plan.exact, strict=True)
        ]
        first, second = row_hashes(exact)
        return rows.select(
            F.lit(w).alias("w"),
            *self.key,
            first.alias("h1"),
            second.alias("h2"),
            *(name for name, _ in self.near),
            side,
        )

    def _clustered(self, rows: Any) -> Any:
        """Number the near values, so that rows of one number are within the tolerance.

        In the order of its values, a step begins where the distance to the one before is larger
        than the tolerance. NULL and NaN are near to nothing but themselves. Of equal values any
        may come first, so the sum takes in all of them (a frame by range, SQL's default).
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        within = [*self.key, "h1", "h2"]
        for name, pair in self.near:
            value = F.col(name)
            like = F.when(value.isNull(), 0)
            if pair.kind.name == "floating":
                value = value.cast("double")
                like = like.when(F.isnan(value), 1)
            elif pair.kind.name == "integer":
                value = value.cast("decimal(20,0)")
            rows = rows.withColumn(f"{name}_like", like.otherwise(2))
            within.append(f"{name}_like")
            over = Window.partitionBy(*within).orderBy(value)
            before = F.lag(value).over(over)
            near = (value == before) | ((value - before).cast("double") <= pair.tolerance)
            jump = F.when(near | value.isNull(), 0).otherwise(1)
            rows = rows.withColumn(f"{name}_jump", jump)
            rows = rows.withColumn(f"{name}_step", F.sum(f"{name}_jump").over(over))
            within.append(f"{name}_step")
        return rows

    def _unequal(self, wanted: Any) -> dict[int, Any]:
        """Return of each side the rows of these keys that have no equal on the other."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        mine = [self._of(side, wanted) for side in self.sides]
        both = mine[0].unionByName(mine[1], allowMissingColumns=True)
        same = Window.partitionBy(*self.same)
        count = {w: F.count(F.when(F.col("w") == w, 1)).over(same) for w in (1, -1)}
        rows = self._clustered(both).withColumn("a", count[1]).withColumn("z", count[-1])
        place = F.row_number().over(Window.partitionBy("w", *self.key).orderBy("h1", "h2"))
        kept = rows.where("a <> z").withColumn("place", place).where(F.col("place") <= ROWS_PER_KEY)
        return {w: kept.where(F.col("w") == w) for w in (1, -1)}

    def _of(self, side: Any, wanted: Any) -> Any:
        from pyspark.sql import functions as F

        return side.join(F.broadcast(self._renamed(wanted)), self._equal(side), "left_semi")

    def _with_lists(self, shown: Any, rows: Any, side: str) -> Any:
        from pyspark.sql import functions as F

        listed = F.collect_list(F.struct("place", side))
        in_order = F.array_sort(listed, lambda one, other: one["place"] - other["place"])
        lists = rows.groupBy(*self.key).agg(in_order.alias("list"))
        other = self._renamed(lists, "list")
        held = F.coalesce(F.col(f"list.{side}"), F.array())
        joined = shown.join(other, self._equal(shown), "left").withColumn(side, held)
        return joined.drop("list", *(f"{name}_other" for name in self.key))

    def _renamed(self, rows: Any, *also: str) -> Any:
        from pyspark.sql import functions as F

        return rows.select(*(F.col(name).alias(f"{name}_other") for name in self.key), *also)

    def _equal(self, rows: Any) -> Any:
        from pyspark.sql import functions as F

        pairs = (rows[name].eqNullSafe(F.col(f"{name}_other")) for name in self.key)
        return reduce(lambda one, other: one & other, pairs)


def _escaped(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
