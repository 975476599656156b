"""The archived offset log agrees with the history recorded while the job ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onceproof.checkpoint import log
from onceproof.checkpoint.archive import queries
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade

Recorded = Mapping[tuple[Op, int], Record]


def log_recorded(evidence: Evidence) -> Finding:
    """Return UNKNOWN if history and archive differ on a batch: one of them was changed.

    The history dates the strikes of faults, the archive determines the expected rows. If the job
    went on without a lost checkpoint, each query has its own part of both.
    """
    folders = queries(evidence.run.checkpoint_log)
    recorded = _by_query(evidence)
    problems: list[str] = []
    if len(recorded) != len(folders):
        problems.append(f"The history has {len(recorded)} queries, the archive {len(folders)}")
    for records, folder in zip(recorded, folders, strict=False):
        problems += _differences(records, folder)
    numbers = {"batches": sum(len(records) for records in recorded)}
    if problems:
        return Finding("log_recorded", Grade.UNKNOWN, "; ".join(problems[:3]), numbers)
    reason = "The archived offset log agrees with the history on every batch"
    return Finding("log_recorded", Grade.PASS, reason, numbers)


def _by_query(evidence: Evidence) -> list[Recorded]:
    """Return the newest record of each batch's offsets and of its commit, for each query."""
    found: list[dict[tuple[Op, int], Record]] = [{}]
    for record in evidence.of(Op.BATCH_OFFSETS, Op.BATCH_COMMIT, Op.CHECKPOINT_ANEW):
        if record.op is Op.CHECKPOINT_ANEW:
            found.append({})
        elif record.batch is not None:
            found[-1][record.op, record.batch] = record
    return list(found)


def _differences(recorded: Recorded, folder: Path) -> Iterator[str]:
    there = {
        *((Op.BATCH_OFFSETS, batch) for batch in log.batches(folder / "offsets")),
        *((Op.BATCH_COMMIT, batch) for batch in log.batches(folder / "commits")),
    }
    for op, batch in sorted(recorded.keys() ^ there):
        name = f"{_FOLDERS[op]}/{batch}"
        if (op, batch) in there:
            yield f"{name} is in the archive but not in the history"
        else:
            yield f"{name} is in the history but not in the archive"
    for op, batch in sorted(recorded.keys() & there):
        record = recorded[op, batch]
        if record.is_ok and _archived(op, folder, batch) != dict(record.proof):
            yield f"{_FOLDERS[op]}/{batch} in the archive is not as the history recorded it"


def _archived(op: Op, folder: Path, batch: int) -> dict[str, Any]:
    """Return an archived file as the history records it."""
    if op is Op.BATCH_OFFSETS:
        planned = log.planned(folder, batch)
        return {"offsets": planned.offsets, "watermark_ms": planned.watermark_ms}
    return {"next_watermark_ms": log.committed(folder, batch).next_watermark_ms}


_FOLDERS = {Op.BATCH_OFFSETS: "offsets", Op.BATCH_COMMIT: "commits"}
