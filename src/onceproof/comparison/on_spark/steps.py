"""The comparison on Spark, for sides that outgrow one machine, in the steps of DuckDB's.

What costs most on Spark is to bring all rows together by their key. Fingerprints are sums that each
task makes of its own rows: two scans of both sides, the second for the rows in question, take less
than half as long as that shuffle, and equal sides, which need one, a third. Where the rows in
question are few they are kept, so that the details read no side again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from onceproof.comparison.columns import Plan, Request, match
from onceproof.comparison.found import CLASSES, Found
from onceproof.comparison.on_spark.buckets import Buckets
from onceproof.comparison.on_spark.frames import frame_of, refuse_cut
from onceproof.comparison.on_spark.keys import Keys
from onceproof.comparison.on_spark.kinds import columns_of
from onceproof.errors import RequestError

# Rows in question are kept between the steps if they are this share of all; more are read again.
_FEW = 0.25
_ROWS_A_PART = 500_000


def compare_on_spark(
    expected: Any,
    observed: Any,
    request: Request,
    spark: Any,
    of_each: int,
    progress: Callable[[str], None],
) -> tuple[Plan, Found]:
    """Compare two DataFrames, or what parquet paths hold, in a session or on a master."""
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
            f"the sides cannot be compared: a text is not UTF-8 ({error}): write it as binary"
        ) from error
    except PySparkException as error:
        said = str(error).splitlines()[0]
        raise RequestError(f"the sides cannot be compared: {said}") from error
    except Py4JJavaError as error:
        said = str(error.java_exception.getMessage()).splitlines()[0]
        raise RequestError(f"the sides cannot be compared: {said}") from error


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


def _find(buckets: Buckets, of_each: int, progress: Callable[[str], None]) -> Found:
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
    return Found(of_all.expected, of_all.observed, counts, details)


def _kept(rows: Any, stack: ExitStack) -> Any:
    from pyspark import StorageLevel

    kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
    stack.callback(kept.unpersist)
    return kept


def _counts(differing: Any) -> dict[str, int]:
    from pyspark.sql import functions as F

    sums = [F.coalesce(F.sum(one), F.lit(0)) for one in CLASSES]
    return dict(zip(CLASSES, map(int, differing.select(*sums).first()), strict=True))
