"""The ledger as a frame whose rows know the batch that read them: what a reference is given."""

from __future__ import annotations

from typing import Any

from onceproof.checkpoint.coverage import Range, ranges
from onceproof.checkpoint.log import Planned
from onceproof.references import Events

_NO_QUERY = (1 << 31) - 1  # of what none has read: behind all others
_BEFORE_ALL_MS = -(1 << 62)
_READ = "topic string, partition int, begin long, end long, batch int, unread boolean, query int"
_RANGE = "topic string, partition int, begin long, end long, batch int, late_ms long, bucket long"


def as_engine_read(ledger: Any, log: list[Planned]) -> Events:
    """Return the rows of the ledger that the log covers, with their batches, and its watermarks."""
    spark = ledger.sparkSession
    steps = [
        (step.batch, log[step.batch - 1].watermark_ms if step.batch else _BEFORE_ALL_MS,
         step.watermark_ms)
        for step in log
    ]  # fmt: skip
    return Events(_with_batches(ledger, log), _watermarks(spark, steps))


def as_sent(ledger: Any, read: list[Range], *, from_the_first: bool) -> Events:
    """Return all rows of the ledger, with the batch that has read each first, null if none has.

    `from_the_first` is false for a job that begins at the latest offsets: what the first query left
    out is then none of its input. `unread` is true of what later ones left out.
    """
    from pyspark.sql import functions as F

    asked = ledger.withColumns({"key": F.col("key"), "value": F.col("payload").cast("string")})
    told = [
        (one.topic, one.partition, one.begin, one.end, one.batch, not one.is_read, one.query)
        for one in read
    ]
    ranges_read = ledger.sparkSession.createDataFrame(told, _READ)
    lies = (F.col("offset") >= F.col("begin")) & (F.col("offset") < F.col("end"))
    beside = [asked[name] == ranges_read[name] for name in ("topic", "partition")]
    joined = asked.join(F.broadcast(ranges_read), [*beside, lies], "left")
    frame = joined.select(
        *(asked[name] for name in ("id", "kind", "event_ms", "key", "value")),
        *(asked[name] for name in ("topic", "partition", "offset")),
        "batch",
        F.coalesce("unread", F.lit(True)).alias("unread"),
        F.coalesce("query", F.lit(_NO_QUERY)).alias("query"),
    )
    if not from_the_first:
        frame = frame.where("not (unread and query = 0)")
    return Events(frame, None)


def as_if_at_once(events: Events, log: list[Planned]) -> Events:
    """Return the same rows as if one batch had read them all, and none had been late.

    What the log's last watermark closes is closed here too.
    """
    from pyspark.sql import functions as F

    frame = events.frame.withColumns(
        {"batch": F.lit(0), "late_ms": F.lit(_BEFORE_ALL_MS).cast("long")}
    )
    step = (0, _BEFORE_ALL_MS, log[-1].watermark_ms)
    return Events(frame, _watermarks(events.frame.sparkSession, [step]))


def _watermarks(spark: Any, steps: list[tuple[int, int, int]]) -> Any:
    return spark.createDataFrame(steps, "batch int, before_ms long, watermark_ms long")


def _with_batches(ledger: Any, log: list[Planned]) -> Any:
    """Join each row with the batch whose range it lies in, by buckets of offsets.

    A bucket is as wide as the mean range, so a row meets one or two ranges, however many batches.
    """
    from pyspark.sql import functions as F

    found = ranges(log)
    width = max(1, max(one.end for one in found) // len(log))
    late_ms = [0, *(step.watermark_ms for step in log)]
    rows = [
        (one.topic, one.partition, one.begin, one.end, one.batch, late_ms[one.batch], bucket)
        for one in found
        for bucket in range(one.begin // width, (one.end - 1) // width + 1)
    ]
    by_bucket = ledger.withColumn("bucket", F.expr(f"offset div {width}"))
    read = F.broadcast(ledger.sparkSession.createDataFrame(rows, _RANGE))
    joined = by_bucket.join(read, ["topic", "partition", "bucket"])
    return joined.where("offset >= begin and offset < end").drop("begin", "end", "bucket")
