"""Spark's rules of event time, as bounded functions for references.

With W(b) the watermark of batch b: a row of batch b is late, and dropped, if its event-time bound
is at or below W(b - 1); an open window closes in the first batch whose W is at or above its bound.
The bound of a row is the end of its window, its time plus the gap of a session, or its own time for
duplicates. All times are in whole milliseconds, as the watermark is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onceproof.references import Events

LATE_COLUMNS = ("id", "key", "event_ms", "topic", "partition", "offset", "batch", "bound_ms")


def windowed(frame: Any, size_ms: int, slide_ms: int | None = None) -> Any:
    """Return each row once for each of its windows, with the window's end as `bound_ms`.

    Without a slide the windows are tumbling. Windows begin at multiples of the slide since 1970.
    """
    from pyspark.sql import functions as F

    slide = slide_ms or size_ms
    last = F.col("event_ms") - F.pmod("event_ms", F.lit(slide))
    ends = [last - nth * slide + size_ms for nth in range(-(-size_ms // slide))]
    rows = frame.withColumn("bound_ms", F.explode(F.array(*ends)))
    return rows.where("bound_ms > event_ms")  # a slide that does not divide the size


def on_time(rows: Any) -> Any:
    """Return the rows that the watermark did not drop; rows need `bound_ms`."""
    return rows.where("bound_ms > late_ms")


def late(rows: Any) -> Any:
    """Return the rows that the watermark dropped, in the columns of the late ledger."""
    return rows.where("bound_ms <= late_ms").select(*LATE_COLUMNS)


def late_windows(frame: Any, size_ms: int, slide_ms: int | None = None) -> Any:
    """Return the rows that the watermark dropped from windows, a row for each window."""
    return late(windowed(frame.where("event_ms < late_ms"), size_ms, slide_ms))


def by_pane(frame: Any, keys: Sequence[str], pane_ms: int, *sums: Any) -> Any:
    """Return sums over rows of the same keys, lateness and pane, with its start as `event_ms`.

    If size and slide are multiples of the pane, `windowed` then has far fewer rows to process.
    """
    from pyspark.sql import functions as F

    start = (F.col("event_ms") - F.pmod("event_ms", F.lit(pane_ms))).alias("event_ms")
    return frame.groupBy(*keys, "late_ms", start).agg(*sums)


def closed(open_until: Any, watermarks: Any) -> Any:
    """Return the rows that closed by the last batch, with `_batch`, the batch that closed them.

    A window closes once: later rows for it are late.
    """
    from pyspark.sql import functions as F

    batches = watermarks.select(F.col("batch").alias("_batch"), "before_ms", "watermark_ms")
    falls = (F.col("bound_ms") > F.col("before_ms")) & (F.col("bound_ms") <= F.col("watermark_ms"))
    closing = open_until.join(F.broadcast(batches), falls)
    return closing.drop("before_ms", "watermark_ms")


def still_open(open_until: Any, watermarks: Any) -> Any:
    """Return the rows in the engine's state after the last batch."""
    from pyspark.sql import functions as F

    last = watermarks.agg(F.max("watermark_ms").alias("last_ms"))
    return open_until.join(F.broadcast(last), F.col("bound_ms") > F.col("last_ms")).drop("last_ms")


def session_rows(frame: Any, gap_ms: int) -> Any:
    """Return each row with the bound of its session window."""
    from pyspark.sql import functions as F

    return frame.withColumn("bound_ms", F.col("event_ms") + gap_ms)


def sessions(events: Events, keys: Sequence[str], gap_ms: int) -> Any:
    """Return the rows that were on time with their session: `start_ms`, `bound_ms`, `_batch`.

    `_batch` is null while the session is open. A closed session takes no more rows: a row that
    would have touched it begins another. Group by the keys and `bound_ms`, which is the end.
    """
    from onceproof.references.folds import fold, into_sessions

    rows = on_time(session_rows(events.frame, gap_ms))
    return fold(rows, keys, "start_ms long, bound_ms long", into_sessions(_steps(events), gap_ms))


def first_of_each(events: Events, keys: Sequence[str]) -> Any:
    """Return the rows that `dropDuplicates` keeps if `event_ms` is among its columns.

    One row for each combination of the keys and `event_ms`, and `_batch`. The engine may keep any
    of several duplicates in a batch, so use only the keys.
    """
    from pyspark.sql import functions as F

    rows = on_time(events.frame.withColumn("bound_ms", F.col("event_ms")))
    return rows.groupBy(*keys, "event_ms").agg(F.min("batch").cast("long").alias("_batch"))


def first_within(events: Events, keys: Sequence[str], delay_ms: int) -> Any:
    """Return the rows that `dropDuplicatesWithinWatermark` on the keys keeps, and `_batch`.

    Of several rows of a key in one batch the engine keeps any, and forgets the key by that row's
    time; here it is the first by partition and offset.
    """
    from pyspark.sql import functions as F

    from onceproof.references.folds import first_in_time, fold

    rows = on_time(events.frame.withColumn("bound_ms", F.col("event_ms")))
    return fold(rows, keys, "", first_in_time(_steps(events), delay_ms)).drop("bound_ms")


def _steps(events: Events) -> list[tuple[int, int]]:
    """Return number and watermark of every batch, in order; they are few enough to collect."""
    rows = events.watermarks.select("batch", "watermark_ms").orderBy("batch").collect()
    return [(row.batch, row.watermark_ms) for row in rows]
