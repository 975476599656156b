"""Which keys differ, how, and what they hold, on Spark.

Columns are named as on DuckDB: `c0`, `c1` ... the compared ones, `h1` and `h2` the hashes of those
that must be exact, `w` the side.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from onceproof.comparison.columns import Plan, cell_columns
from onceproof.comparison.found import CLASSES, COUNTS, ROWS_PER_KEY
from onceproof.comparison.on_spark.buckets import SIDES
from onceproof.comparison.on_spark.near import cell, paired, stepped


class Keys:
    """The rows in question of both sides, brought together by key."""

    def __init__(self, rows: Any, plan: Plan) -> None:
        self.rows = rows
        self.plan = plan
        self.key = [f"c{i}" for i in range(len(plan.key))]
        start = len(plan.key) + len(plan.exact)
        self.near = [(f"c{start + i}", pair) for i, pair in enumerate(plan.near)]
        self.cell = [*self.key, "h1", "h2", *cell_columns(self.near)]

    def differing(self, parts: int) -> Any:
        """Return the keys that differ, with their rows in each side and of each class.

        The rows are brought together by key in so many parts.
        """
        from pyspark.sql import functions as F

        columns = ["w", *self.key, "h1", "h2", *(name for name, _ in self.near)]
        rows = self._stepped(self.rows.select(columns).repartition(parts, *self.key))
        of_cell = (part.alias(name) for name, part in cell(self.near).items())
        cells = rows.groupBy(*self.cell).agg(*of_cell).withColumn("m", paired(self.near))
        keys = cells.groupBy(*self.key).agg(
            F.sum("a").alias("e"), F.sum("z").alias("o"), F.sum("m").alias("m")
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
        shown = self._with_lists(picked)
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

    def _stepped(self, rows: Any) -> Any:
        return stepped(rows, [*self.key, "h1", "h2"], self.near)

    def _with_lists(self, picked: Any) -> Any:
        """Add to the keys, of each side, their rows that have no equal on the other."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        wanted = F.broadcast(self._renamed(picked.select(*self.key).distinct()))
        rows = self.rows.join(wanted, self._equal(self.rows), "left_semi")
        over = Window.partitionBy(*self.cell)
        cells = self._stepped(rows).withColumns(cell(self.near, over))
        unequal = cells.where(paired(self.near) < F.greatest("a", "z"))
        place = F.row_number().over(Window.partitionBy("w", *self.key).orderBy("h1", "h2"))
        shown = unequal.withColumn("place", place).where(F.col("place") <= ROWS_PER_KEY)
        lists = shown.groupBy(*self.key).agg(*map(_in_order, SIDES))
        joined = picked.join(self._renamed(lists, *SIDES), self._equal(picked), "left")
        held = {side: F.coalesce(side, F.array()) for side in SIDES}
        return joined.withColumns(held)

    def _renamed(self, rows: Any, *also: str) -> Any:
        from pyspark.sql import functions as F

        return rows.select(*(F.col(name).alias(f"{name}_other") for name in self.key), *also)

    def _equal(self, rows: Any) -> Any:
        from pyspark.sql import functions as F

        pairs = (rows[name].eqNullSafe(F.col(f"{name}_other")) for name in self.key)
        return reduce(lambda one, other: one & other, pairs)


def _in_order(side: str) -> Any:
    """Return the aggregate that lists a side's rows by their place."""
    from pyspark.sql import functions as F

    listed = F.collect_list(F.when(F.col(side).isNotNull(), F.struct("place", side)))
    in_order = F.array_sort(listed, lambda one, other: one["place"] - other["place"])
    return F.transform(in_order, lambda one: one[side]).alias(side)
