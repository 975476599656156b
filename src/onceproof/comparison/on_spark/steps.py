"""The comparison on Spark, for sides that outgrow one machine, in the steps of DuckDB's.

The most expensive step on Spark is to shuffle all rows by key. Fingerprints are sums that each task
computes over its own rows: two scans of both sides, the second for the rows in question, take less
than half as long as that shuffle, and equal sides, which need one scan, a third. If the rows in
question are few they are cached, so that the details do not read a side again.

Columns are named as on DuckDB: `c0`, `c1` ... the compared ones, `h1` and `h2` the hashes of those
that must be exact, `w` the side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any

from onceproof.comparison.columns import Plan, Request, cell_columns, match
from onceproof.comparison.on_spark.buckets import SIDES, Buckets
from onceproof.comparison.on_spark.frames import frame_of, refuse_cut
from onceproof.comparison.on_spark.kinds import columns_of
from onceproof.comparison.on_spark.near import cell, paired, stepped
from onceproof.comparison.result import CLASSES, COUNTS, ROWS_PER_KEY, Result
from onceproof.errors import RequestError
from onceproof.setup.libraries import PYSPARK, refuse_missing

# Rows in question are cached between the steps up to this share of all; more are read again.
_FEW = 0.25
_ROWS_A_PART = 500_000


def compare_on_spark(
    expected: Any,
    observed: Any,
    request: Request,
    spark: Any,
    of_each: int,
    progress: Callable[[str], None],
) -> tuple[Plan, Result]:
    """Compare two DataFrames or parquet paths, in a session or on a master."""
    refuse_missing([PYSPARK])
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    given = {"expected": expected, "observed": observed}
    try:
        with _session(spark) as session:
            frames = [frame_of(session, side, place) for side, place in given.items()]
            plan = match(columns_of(frames[0]), columns_of(frames[1]), request)
            for (side, place), frame in zip(given.items(), frames, strict=True):
                refuse_cut(side, place, frame, plan)
            return plan, _find(Buckets(frames[0], frames[1], plan), of_each, progress)
    except UnicodeDecodeError as error:
        raise RequestError(
            f"the sides cannot be compared: a text is not UTF-8 ({error}); write it as binary"
        ) from error
    except PySparkException as error:
        why = str(error).splitlines()[0]
        raise RequestError(f"the sides cannot be compared: {why}") from error
    except Py4JJavaError as error:
        why = str(error.java_exception.getMessage()).splitlines()[0]
        raise RequestError(f"the sides cannot be compared: {why}") from error


@contextmanager
def _session(given: Any) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    is_given = not (given is None or isinstance(given, str))
    if running := given if is_given else SparkSession.getActiveSession():
        yield running
        return
    made = (
        SparkSession.builder.master(given or "local[*]")
        .appName("onceproof diff")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    try:
        yield made
    finally:
        made.stop()


def _find(buckets: Buckets, of_each: int, progress: Callable[[str], None]) -> Result:
    progress("fingerprints of all rows")
    of_all = buckets.fingerprints()
    counts = dict.fromkeys(CLASSES, 0)
    details = None
    if of_all.in_question:
        progress(f"keys of {of_all.in_question:,} rows in question")
        few = of_all.in_question <= _FEW * (of_all.expected + of_all.observed)
        with ExitStack() as stack:
            rows = buckets.rows(of_all.differing)
            step = Keys(_kept(rows, stack) if few else rows, buckets.plan)
            differing = _kept(step.differing(-(-of_all.in_question // _ROWS_A_PART)), stack)
            counts = _counts(differing)
            if any(counts.values()) and of_each:
                progress("details")
                details = step.details(differing, of_each)
    return Result(of_all.expected, of_all.observed, counts, details)


def _kept(rows: Any, stack: ExitStack) -> Any:
    from pyspark import StorageLevel

    kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
    stack.callback(kept.unpersist)
    return kept


def _counts(differing: Any) -> dict[str, int]:
    from pyspark.sql import functions as F

    sums = [F.coalesce(F.sum(one), F.lit(0)) for one in CLASSES]
    return dict(zip(CLASSES, map(int, differing.select(*sums).first()), strict=True))


class Keys:
    """The rows in question of both sides, grouped by key."""

    def __init__(self, rows: Any, plan: Plan) -> None:
        self.rows = rows
        self.plan = plan
        self.key = [f"c{i}" for i in range(len(plan.key))]
        start = len(plan.key) + len(plan.exact)
        self.near = [(f"c{start + i}", pair) for i, pair in enumerate(plan.near)]
        self.cell = [*self.key, "h1", "h2", *cell_columns(self.near)]

    def differing(self, parts: int) -> Any:
        """Return the keys that differ, with their rows in each side and of each class.

        The rows are grouped by key in this many parts.
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
        """Add to the keys the rows of each side that have no equal row on the other."""
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
