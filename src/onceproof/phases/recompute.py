"""The phase that computes the expected output: the pipeline's reference over the ledger.

The file is long because ledger, log and state need one definition of the batch that read a row.

R1 follows the offset log of the run: each acknowledged record in the batch that read it, under the
watermark of that batch. R0 is the result of a batch query over the same records; if the two differ,
the watermark dropped rows, which are the late ledger. Of the streaming job only the two logs are
used, not its sink; its state is read only for comparison.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from onceproof.checkpoint.archive import queries
from onceproof.checkpoint.coverage import Range, committed_batches, first_reads, position, ranges
from onceproof.checkpoint.log import Planned, committed
from onceproof.documents import write_whole
from onceproof.errors import EvidenceError
from onceproof.phases.calm import refuse_late
from onceproof.references import Events, Reference
from onceproof.references.declared import CALM, reference_of
from onceproof.references.windows import LATE_COLUMNS
from onceproof.runs.directory import RunDirectory
from onceproof.runs.ledger import Ledger, count_rows, query_parquet
from onceproof.runs.parts import made_of
from onceproof.runs.plan import EARLIEST, Plan, Writes

_LATE_TYPES = "id long, key string, event_ms long, topic string, partition int, offset long"
_NO_QUERY = (1 << 31) - 1  # for records that no query read: after all others
_BEFORE_ALL_MS = -(1 << 62)
_READ = "topic string, partition int, begin long, end long, batch int, unread boolean, query int"
_RANGE = "topic string, partition int, begin long, end long, batch int, late_ms long, bucket long"
_SAMPLES = 20
_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def recompute_in(spark: Any, run: RunDirectory, plan: Plan) -> Mapping[str, Any]:
    """Write `expected/`, `late/` and `recomputed.json`, and return the content of the last.

    May be repeated: files of an older call are replaced, and `recomputed.json` is written last.
    Raises `EvidenceError` if the content of the input is unknown.
    """
    began = time.monotonic()
    run.recomputed.unlink(missing_ok=True)
    reference = reference_of(plan.output)
    log = committed_batches(run.checkpoint_log)
    covered, uncovered = _counted(run, plan, position(log))
    sent = acknowledged(spark, run, plan)
    topics = {one.name: one.topic for one in plan.inputs}
    if reference.rests_on_log:
        events = replace(as_engine_read(sent, log), topics=topics)
        emitted = reference.emitted(events)
        upserts = plan.output.writes is Writes.UPSERT
        rows = newest(emitted, reference) if upserts else emitted
        _replace(run.expected, rows.select(*reference.columns, "_batch"))
    else:
        events = replace(_as_sent(spark, run, plan, sent), topics=topics)
        _replace(run.expected, reference.emitted(events))
    _replace(run.late, _late(spark, reference, events))
    document = {
        "schema": 2,
        **made_of(run, "recomputed", plan.run),
        "expected": count_rows(run.expected),
        "late": count_rows(run.late),
        "batches": len(log),
        "covered": covered,
        "uncovered": uncovered,
        "delay_ms": reference.lateness.delay_ms if reference.lateness else None,
        "rests_on_log": reference.rests_on_log,
        "r0": _plain(spark.read.parquet(str(run.expected)), reference, events, log),
        "state": compare_state(spark, run.checkpoint, len(log) - 1, reference, events),
        "seconds": round(time.monotonic() - began, 3),
    }
    write_whole(run.recomputed, json.dumps(document, indent=2, default=str) + "\n")
    return document


def acknowledged(spark: Any, run: RunDirectory, plan: Plan) -> Any:
    """Return the acknowledged rows of the ledger that are in the topics of the plan.

    Older ledgers have no column `awkward`.
    """
    from pyspark.sql import functions as F

    rows = spark.read.option("recursiveFileLookup", "true").parquet(str(run.ledger))
    sent = rows.where((F.col("ack") == "ok") & F.col("topic").isin(*plan.topics))
    if "awkward" in sent.columns:
        return sent
    return sent.withColumn("awkward", F.lit(None).cast("string"))


def _as_sent(spark: Any, run: RunDirectory, plan: Plan, sent: Any) -> Events:
    """Return the sent events, with the output of the calm run if that is the reference."""
    reads = first_reads(queries(run.checkpoint_log))
    events = as_sent(sent, reads, from_the_first=plan.query.starting == EARLIEST)
    if plan.output.reference != CALM:
        return events
    refuse_late(run)
    return replace(events, calm=spark.read.parquet(str(run.calm.observed)))


def newest(emitted: Any, reference: Reference) -> Any:
    """Return the row of each key that its newest batch emitted.

    Rows of one key and batch must be equal, as their order is unknown; Spark raises an error if
    they are not.
    """
    from pyspark.sql import functions as F

    values = [name for name in reference.columns if name not in reference.key]
    kept = F.max(F.struct("_batch", *values)).alias("kept")
    least = F.min(F.struct((-F.col("_batch")).alias("_batch"), *values)).alias("least")
    by_key = emitted.groupBy(*reference.key).agg(kept, least)
    alike = F.lit(True)
    for name in values:
        alike &= F.col(f"kept.{name}").eqNullSafe(F.col(f"least.{name}"))
    text = F.lit("the reference emitted two different rows of one key in one batch")
    batch = F.when(alike, F.col("kept._batch")).otherwise(F.raise_error(text).cast("long"))
    return by_key.select(
        *reference.key, *(f"kept.{name}" for name in values), batch.alias("_batch")
    )


def _counted(run: RunDirectory, plan: Plan, ends: Mapping[tuple[str, int], int]) -> tuple[int, int]:
    """Return the numbers of acknowledged records before and after the last commit."""
    ((unknown,),) = query_parquet(
        run.ledger, "select count(*) filter (where ack = 'unknown') from {rows}"
    )
    if unknown:
        raise EvidenceError(
            f"the input is unknown: {unknown:,} event(s) were neither acknowledged nor refused, so"
            " the expected output cannot be computed"
        )
    ledger = Ledger.read(run.ledger, plan.topics)
    covered = ledger.covered_by(ends)
    return covered, ledger.acknowledged - covered


def _late(spark: Any, reference: Reference, events: Events) -> Any:
    if reference.lateness is None:
        return spark.createDataFrame([], f"{_LATE_TYPES}, batch int, bound_ms long")
    return reference.lateness.dropped(events).select(*LATE_COLUMNS)


def _plain(
    expected: Any, reference: Reference, events: Events, log: list[Planned]
) -> Mapping[str, int]:
    """Return the number of R0's rows, and the number of keys whose newest rows differ from R1's."""
    from pyspark.sql import functions as F

    if reference.lateness is None:  # without late rows and windows R0 is equal to R1
        return {"rows": expected.select(*reference.key).distinct().count(), "differ": 0}
    values = [name for name in reference.columns if name not in reference.key]
    row = F.struct("_batch", *values)
    sides = [expected, reference.emitted(as_if_at_once(events, log)).select(*expected.columns)]
    marked = [side.select("*", F.lit(nth).alias("_side")) for nth, side in enumerate(sides)]
    by_key = marked[0].unionByName(marked[1]).groupBy(*reference.key)
    r1, r0 = (F.max(F.when(F.col("_side") == nth, row)) for nth in (0, 1))
    both = by_key.agg(r1.alias("r1"), r0.alias("r0"))
    same = F.col("r1").isNotNull() & F.col("r0").isNotNull()
    for name in values:
        same &= F.col(f"r1.{name}").eqNullSafe(F.col(f"r0.{name}"))
    found = both.agg(F.count("r0").alias("rows"), F.count_if(~same).alias("differ")).first()
    return {"rows": found["rows"], "differ": found["differ"]}


def _replace(folder: Path, frame: Any) -> None:
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    frame.write.parquet(str(part))
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(part, folder)


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
    """Return all rows of the ledger, each with the first batch that read it, or null.

    `from_the_first` is false for a job that starts at the latest offsets: rows that its first query
    skipped are then not part of its input. `unread` is true for rows that later queries skipped.
    """
    from pyspark.sql import functions as F

    asked = ledger.withColumns({"key": F.col("key"), "value": F.col("payload").cast("string")})
    read_ranges = [
        (one.topic, one.partition, one.begin, one.end, one.batch, not one.is_read, one.query)
        for one in read
    ]
    ranges_read = ledger.sparkSession.createDataFrame(read_ranges, _READ)
    in_range = (F.col("offset") >= F.col("begin")) & (F.col("offset") < F.col("end"))
    same = [asked[name] == ranges_read[name] for name in ("topic", "partition")]
    joined = asked.join(F.broadcast(ranges_read), [*same, in_range], "left")
    frame = joined.select(
        *(asked[name] for name in ("id", "kind", "awkward", "event_ms", "key", "value")),
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

    Windows that the log's last watermark closes are closed here too.
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
    """Join each row with the batch that read it, by buckets of offsets.

    A bucket is as wide as the mean range, so a row meets one or two ranges for any number of
    batches.
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


def compare_state(
    spark: Any, checkpoint: Path, batch: int, reference: Reference, events: Events
) -> Mapping[str, Any] | None:
    """Return the numbers of expected, found and differing rows of state; None without state.

    If the state cannot be read, the document has only the reason as `error`, and no counts.
    """
    if reference.state is None:
        return None
    try:
        with _format_of(spark, checkpoint, batch):
            spark._jsparkSession.streams().stateStoreCoordinator()  # RocksDB's stores need it
            read = spark.read.format("statestore").option("batchId", batch).load(str(checkpoint))
            found = read.selectExpr(*reference.state_columns)
            return {"batch": batch, **_compared(reference.state(events), found)}
    except Exception as error:  # any reason for which it cannot be read
        return {"batch": batch, "error": _cause(error)}


@contextmanager
def _format_of(spark: Any, checkpoint: Path, batch: int) -> Iterator[None]:
    """Set the format of state by the commit log: the checkpoint does not store the setting."""
    spark.conf.set(_FORMAT, "2" if committed(checkpoint, batch).state_ids else "1")
    try:
        yield
    finally:
        spark.conf.unset(_FORMAT)


def _cause(error: Any) -> str:
    """Return the first line of the innermost cause."""
    inner = getattr(error, "java_exception", None)
    while inner is not None and inner.getCause() is not None:
        inner = inner.getCause()
    text = str(error) if inner is None else str(inner.toString())
    return f"{type(error).__name__}: {next(iter(text.splitlines()), '')}"


def _compared(expected: Any, found: Any) -> dict[str, Any]:
    from pyspark.sql import functions as F

    columns = expected.columns
    sides = [
        side.select(*columns, F.lit(mine).alias("_expected"), F.lit(1 - mine).alias("_found"))
        for side, mine in ((expected, 1), (found.select(*columns), 0))
    ]
    sums = F.sum("_expected").alias("_expected"), F.sum("_found").alias("_found")
    rows = sides[0].unionByName(sides[1]).groupBy(*columns).agg(*sums)
    differ = F.col("_expected") != F.col("_found")
    total = rows.agg(
        F.sum("_expected").alias("expected"),
        F.sum("_found").alias("found"),
        F.sum(F.abs(F.col("_expected") - F.col("_found"))).alias("differ"),
    ).first()
    counts = {name: int(total[name] or 0) for name in ("expected", "found", "differ")}
    samples = rows.where(differ).orderBy(*columns).limit(_SAMPLES) if counts["differ"] else None
    return {**counts, "samples": [row.asDict() for row in samples.collect()] if samples else []}
