"""What the engine holds open, from its own state files, beside what the reference says is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onceproof.checkpoint.log import committed
from onceproof.references import Events, Reference

_SAMPLES = 20
_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def compare_state(
    spark: Any, checkpoint: Path, batch: int, reference: Reference, events: Events
) -> Mapping[str, Any] | None:
    """Return how many rows of state are expected and found, and how many differ; None if no state.

    State that cannot be read is no state without difference: the document then says why, as
    `error`, and nothing else.
    """
    if reference.state is None:
        return None
    try:
        with _format_of(spark, checkpoint, batch):
            spark._jsparkSession.streams().stateStoreCoordinator()  # RocksDB's stores ask for it
            read = spark.read.format("statestore").option("batchId", batch).load(str(checkpoint))
            found = read.selectExpr(*reference.state_columns)
            return {"batch": batch, **_compared(reference.state(events), found)}
    except Exception as error:  # whatever it is that keeps it from being read
        return {"batch": batch, "error": _cause(error)}


@contextmanager
def _format_of(spark: Any, checkpoint: Path, batch: int) -> Iterator[None]:
    """Let Spark read state as the commit log says it was written; the setting is not kept there."""
    spark.conf.set(_FORMAT, "2" if committed(checkpoint, batch).state_ids else "1")
    try:
        yield
    finally:
        spark.conf.unset(_FORMAT)


def _cause(error: Any) -> str:
    """Return the first line of the innermost cause, which is the one that tells."""
    inner = getattr(error, "java_exception", None)
    while inner is not None and inner.getCause() is not None:
        inner = inner.getCause()
    said = str(error) if inner is None else str(inner.toString())
    return f"{type(error).__name__}: {next(iter(said.splitlines()), '')}"


def _compared(expected: Any, found: Any) -> dict[str, Any]:
    from pyspark.sql import functions as F

    columns = expected.columns
    sides = [
        side.select(*columns, F.lit(mine).alias("_expected"), F.lit(1 - mine).alias("_found"))
        for side, mine in ((expected, 1), (found.select(*columns), 0))
    ]
    sums = F.sum("_expected").alias("_expected"), F.sum("_found").alias("_found")
    rows = sides[0].unionByName(sides[1]).groupBy(*columns).agg(*sums)
    apart = F.col("_expected") != F.col("_found")
    total = rows.agg(
        F.sum("_expected").alias("expected"),
        F.sum("_found").alias("found"),
        F.sum(F.abs(F.col("_expected") - F.col("_found"))).alias("differ"),
    ).first()
    counts = {name: int(total[name] or 0) for name in ("expected", "found", "differ")}
    shown = rows.where(apart).orderBy(*columns).limit(_SAMPLES) if counts["differ"] else None
    return {**counts, "samples": [row.asDict() for row in shown.collect()] if shown else []}
