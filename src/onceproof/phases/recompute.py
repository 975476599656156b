"""The phase that says what the sink should hold: the pipeline's reference over the ledger.

R1 follows the offset log of the run: each acknowledged record in the batch that read it, under the
watermark of that batch. R0 is what a plain batch query over the same records gives; where the two
differ, the watermark dropped rows, and those are the late ledger. Nothing of the streaming job but
the two logs is used: neither its state nor its sink.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from onceproof.checkpoint.archive import queries
from onceproof.checkpoint.coverage import committed_batches, first_reads, position
from onceproof.checkpoint.log import Planned
from onceproof.documents import write_whole
from onceproof.errors import EvidenceError
from onceproof.phases.assigned import as_engine_read, as_if_at_once, as_sent
from onceproof.phases.calm import refuse_late
from onceproof.phases.open_state import compare_state
from onceproof.references import Events, Reference
from onceproof.references.declared import CALM, reference_of
from onceproof.references.windows import LATE_COLUMNS
from onceproof.run.directory import RunDirectory
from onceproof.run.ledger import Ledger, count_rows, query_parquet
from onceproof.run.parts import made_of
from onceproof.run.plan import EARLIEST, Plan, Writes

_LATE_TYPES = "id long, key string, event_ms long, topic string, partition int, offset long"


def recompute_in(spark: Any, run: RunDirectory, work: Plan) -> Mapping[str, Any]:
    """Write `expected/`, `late/` and `recomputed.json`, and return what stands in the last.

    May be repeated: what an older call wrote is replaced, and `recomputed.json` comes last. Raises
    `EvidenceError` where nobody can know what the input holds.
    """
    began = time.monotonic()
    run.recomputed.unlink(missing_ok=True)
    reference = reference_of(work.output)
    log = committed_batches(run.checkpoint_log)
    covered, uncovered = _counted(run, position(log))
    sent = spark.read.parquet(str(run.ledger)).where("ack = 'ok'")
    if reference.rests_on_log:
        events = as_engine_read(sent, log)
        emitted = reference.emitted(events)
        upserts = work.output.writes is Writes.UPSERT
        rows = newest(emitted, reference) if upserts else emitted
        _replace(run.expected, rows.select(*reference.columns, "_batch"))
    else:
        events = _as_sent(spark, run, work, sent)
        _replace(run.expected, reference.emitted(events))
    _replace(run.late, _late(spark, reference, events))
    document = {
        "schema": 2,
        **made_of(run, "recomputed", work.run),
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


def _as_sent(spark: Any, run: RunDirectory, work: Plan, sent: Any) -> Events:
    """Return what was sent, and what a calm run has left of it where the reference is that."""
    reads = first_reads(queries(run.checkpoint_log))
    events = as_sent(sent, reads, from_the_first=work.query.starting == EARLIEST)
    if work.output.reference != CALM:
        return events
    refuse_late(run)
    return replace(events, calm=spark.read.parquet(str(run.calm.observed)))


def newest(emitted: Any, reference: Reference) -> Any:
    """Return the row of each key that its newest batch emitted.

    Rows of one key and batch must be alike: which of them came last, nobody could tell.
    """
    from pyspark.sql import functions as F

    values = [name for name in reference.columns if name not in reference.key]
    kept = F.max(F.struct("_batch", *values)).alias("kept")
    least = F.min(F.struct((-F.col("_batch")).alias("_batch"), *values)).alias("least")
    by_key = emitted.groupBy(*reference.key).agg(kept, least)
    alike = F.lit(True)
    for name in values:
        alike &= F.col(f"kept.{name}").eqNullSafe(F.col(f"least.{name}"))
    text = F.lit("the reference emitted two rows of one key in one batch, and they differ")
    batch = F.when(alike, F.col("kept._batch")).otherwise(F.raise_error(text).cast("long"))
    return by_key.select(
        *reference.key, *(f"kept.{name}" for name in values), batch.alias("_batch")
    )


def _counted(run: RunDirectory, ends: Mapping[tuple[str, int], int]) -> tuple[int, int]:
    """Return how many acknowledged records lie before and behind the last commit."""
    ((unknown,),) = query_parquet(
        run.ledger, "select count(*) filter (where ack = 'unknown') from {rows}"
    )
    if unknown:
        raise EvidenceError(
            f"the input has a gap: of {unknown:,} event(s) nobody knows whether they arrived, so"
            " nobody can say what must come out"
        )
    ledger = Ledger.read(run.ledger)
    covered = ledger.covered_by(ends)
    return covered, ledger.acknowledged - covered


def _late(spark: Any, reference: Reference, events: Events) -> Any:
    if reference.lateness is None:
        return spark.createDataFrame([], f"{_LATE_TYPES}, batch int, bound_ms long")
    return reference.lateness.dropped(events).select(*LATE_COLUMNS)


def _plain(
    expected: Any, reference: Reference, events: Events, log: list[Planned]
) -> Mapping[str, int]:
    """Return the rows of R0, and of how many keys the newest rows of R0 and R1 differ."""
    from pyspark.sql import functions as F

    if reference.lateness is None:  # nothing is dropped, and nothing closes: R0 is R1
        return {"rows": expected.select(*reference.key).distinct().count(), "differ": 0}
    values = [name for name in reference.columns if name not in reference.key]
    row = F.struct("_batch", *values)
    sides = [expected, reference.emitted(as_if_at_once(events, log)).select(*expected.columns)]
    marked = [side.select("*", F.lit(nth).alias("_side")) for nth, side in enumerate(sides)]
    told = marked[0].unionByName(marked[1]).groupBy(*reference.key)
    r1, r0 = (F.max(F.when(F.col("_side") == nth, row)) for nth in (0, 1))
    both = told.agg(r1.alias("r1"), r0.alias("r0"))
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
