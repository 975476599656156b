"""What the engine holds open, from its own state files, beside what the reference says is open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onceproof.references import Events, Reference

_SAMPLES = 20


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
        read = spark.read.format("statestore").option("batchId", batch).load(str(checkpoint))
        found = read.selectExpr(*reference.state_columns)
        return {"batch": batch, **_compared(reference.state(events), found)}
    except Exception as error:  # whatever it is that keeps it from being read
        first = next(iter(str(error).splitlines()), "")
        return {"batch": batch, "error": f"{type(error).__name__}: {first}"}


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
