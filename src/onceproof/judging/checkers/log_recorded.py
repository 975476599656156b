"""The archived offset log says what the history recorded while the job ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onceproof.checkpoint import log
from onceproof.checkpoint.archive import queries
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade

Told = Mapping[tuple[Op, int], Record]


def log_recorded(evidence: Evidence) -> Finding:
    """Say UNKNOWN where history and archive differ on a batch: one of them was changed.

    When faults struck is told by the history, and what must come out by the archive. Where a
    checkpoint was lost and begun anew, each query has its own part of both.
    """
    folders = queries(evidence.run.checkpoint_log)
    told = _by_query(evidence)
    said: list[str] = []
    if len(told) != len(folders):
        said.append(f"The history tells of {len(told)} queries, and {len(folders)} were archived")
    for records, folder in zip(told, folders, strict=False):
        said += _differences(records, folder)
    numbers = {"batches": sum(len(records) for records in told)}
    if said:
        return Finding("log_recorded", Grade.UNKNOWN, "; ".join(said[:3]), numbers)
    reason = "The archived offset log says what the history recorded of each batch"
    return Finding("log_recorded", Grade.PASS, reason, numbers)


def _by_query(evidence: Evidence) -> list[Told]:
    """Return the newest record of each batch's offsets and of its commit, for each query."""
    found: list[dict[tuple[Op, int], Record]] = [{}]
    for record in evidence.of(Op.BATCH_OFFSETS, Op.BATCH_COMMIT, Op.CHECKPOINT_ANEW):
        if record.op is Op.CHECKPOINT_ANEW:
            found.append({})
        elif record.batch is not None:
            found[-1][record.op, record.batch] = record
    return list(found)


def _differences(told: Told, folder: Path) -> Iterator[str]:
    there = {
        *((Op.BATCH_OFFSETS, batch) for batch in log.batches(folder / "offsets")),
        *((Op.BATCH_COMMIT, batch) for batch in log.batches(folder / "commits")),
    }
    for op, batch in sorted(told.keys() ^ there):
        name = f"{_FOLDERS[op]}/{batch}"
        if (op, batch) in there:
            yield f"{name} was archived, and the history has no record of it"
        else:
            yield f"The history has a record of {name}, and it is not in the archive"
    for op, batch in sorted(told.keys() & there):
        record = told[op, batch]
        if record.is_ok and _said(op, folder, batch) != dict(record.proof):
            yield f"The archived {_FOLDERS[op]}/{batch} does not say what the history recorded"


def _said(op: Op, folder: Path, batch: int) -> dict[str, Any]:
    """Return what an archived file says, as the history records it."""
    if op is Op.BATCH_OFFSETS:
        planned = log.planned(folder, batch)
        return {"offsets": planned.offsets, "watermark_ms": planned.watermark_ms}
    return {"next_watermark_ms": log.committed(folder, batch).next_watermark_ms}


_FOLDERS = {Op.BATCH_OFFSETS: "offsets", Op.BATCH_COMMIT: "commits"}
