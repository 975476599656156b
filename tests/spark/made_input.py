"""Ledgers and offset logs drawn from a seed: late rows, redeliveries, empty batches, unread rows.

Many cases share one log: each key begins with the number of its case, so that one Spark job does
them all.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from onceproof.runs.directory import RunDirectory
from tests.plans import plan_document

TOPIC = "made.events"
DELAY_MS = 2000
START_MS = 1_700_000_000_000
GRAIN_MS = 250  # coarse, so that bounds and watermarks fall on the same millisecond
LEDGER = pa.schema(
    [
        ("id", pa.int64()),
        ("producer", pa.int32()),
        ("key", pa.string()),
        ("seq", pa.int64()),
        ("event_ms", pa.int64()),
        ("amount", pa.int64()),
        ("kind", pa.string()),
        ("awkward", pa.string()),
        ("payload", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("ack", pa.string()),
    ]
)


@dataclass
class Made:
    """Rows by batch as the engine read them, W of each batch, and rows that no batch read."""

    batches: list[list[dict[str, Any]]]
    watermarks: list[int]
    behind: list[dict[str, Any]]


def make(seed: int, cases: int = 25, batches: int = 24, partitions: int = 3) -> Made:
    rng = Random(seed)
    ends = [0] * partitions
    made: list[list[dict[str, Any]]] = []
    watermarks = [0]
    for batch in range(batches + 1):
        size = 0 if rng.random() < 0.1 else rng.randrange(1, cases * 10)
        rows = [_row(rng, ends, batch, cases, made) for _ in range(size)]
        made.append(rows)
        newest = max((row["event_ms"] for row in rows), default=0)
        watermarks.append(max(watermarks[-1], newest - DELAY_MS))
    return Made(made[:batches], watermarks[:batches], made[batches])


def _row(rng, ends, batch, cases, made):
    earlier = made and rng.random() < 0.05 and next((rows for rows in reversed(made) if rows), None)
    if earlier:
        row = dict(rng.choice(earlier), kind="redelivery")
    else:
        late = rng.randrange(0, 9000) if rng.random() < 0.25 else 0
        at = batch * 1300 + rng.randrange(-500, 2000) - late
        row = {
            "id": sum(ends),
            "producer": 0,
            "key": f"{rng.randrange(cases)}|app-{rng.randrange(4)}",
            "seq": sum(ends),
            "event_ms": START_MS + at // GRAIN_MS * GRAIN_MS,
            "amount": rng.randrange(100),
            "kind": "event",
            "payload": "",
            "topic": TOPIC,
            "ack": "ok",
        }
    row["partition"] = rng.randrange(len(ends))
    row["offset"] = ends[row["partition"]]
    ends[row["partition"]] += 1
    return row


def write(made: Made, folder: Path, pipeline: str, writes: str) -> RunDirectory:
    """Make a run's directory with the input of recompute, and one refused send."""
    run = RunDirectory(folder)
    run.ledger.mkdir(parents=True)
    refused = make_refused(made)
    rows = [row for batch in [*made.batches, made.behind] for row in batch] + [refused]
    parquet.write_table(pa.Table.from_pylist(rows, LEDGER), run.ledger / "part-0.parquet")
    write_log(made, run.checkpoint_log)
    run.plan.write_text(json.dumps(work(pipeline, writes)))
    return run


def make_refused(made: Made) -> dict[str, Any]:
    row = next(row for batch in made.batches for row in batch)
    return row | {"id": -1, "partition": None, "offset": None, "ack": "failed"}


def work(pipeline: str, writes: str) -> dict[str, Any]:
    """Return the document of a plan."""
    reference = f"onceproof.references.{pipeline}:REFERENCE"
    return plan_document(
        run="made",
        job={"name": pipeline},
        input={"workload": "made", "topic": TOPIC, "partitions": 3, "options": {"events": 1}},
        output={"reference": reference, "writes": writes},
    )


def write_log(made: Made, folder: Path) -> None:
    """Write offsets/ and commits/ as the engine does; the last offsets are not committed."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    ends: dict[str, int] = {}
    watermarks = [*made.watermarks, made.watermarks[-1]]
    for batch, rows in enumerate([*made.batches, made.behind]):
        for row in rows:
            if row["offset"] is not None:
                ends[str(row["partition"])] = row["offset"] + 1
        head = {"batchWatermarkMs": watermarks[batch], "batchTimestampMs": 1, "conf": {}}
        lines = ["v1", json.dumps(head), json.dumps({TOPIC: ends})]
        (folder / "offsets" / str(batch)).write_text("\n".join(lines))
    for batch in range(len(made.batches)):
        head = {"nextBatchWatermarkMs": watermarks[batch + 1]}
        (folder / "commits" / str(batch)).write_text(f"v1\n{json.dumps(head)}")
