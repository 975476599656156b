"""The engine's own log tells one story, and it is that of the ledger: which input, which W."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onceproof.checkpoint.archive import queries
from onceproof.checkpoint.checks import log_troubles
from onceproof.checkpoint.coverage import Range, committed_batches, position, ranges
from onceproof.checkpoint.log import Planned, committed, newest
from onceproof.database import open_database
from onceproof.documents import count
from onceproof.errors import EvidenceError
from onceproof.judging.checkers.restarted import damaged, unexplained
from onceproof.runs.evidence import Evidence
from onceproof.runs.ledger import query_parquet
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade

# Each row of the ledger in the batch whose range it lies in.
_NEWEST_EVENTS = """
    select batch, max(event_ms) from (
        select event_ms, batch, "offset" >= "end" as behind
        from (select * from {rows} where "offset" is not null) sent
        asof join ranges on sent.topic = ranges.topic and sent.partition = ranges.partition
            and sent."offset" >= ranges."begin"
    ) where not behind group by batch"""


def offset_log(evidence: Evidence) -> Finding:
    """Say UNKNOWN if the offset log cannot be what the engine did: expected rows rest on it.

    Every watermark is computed again from the events that the log says were read before it.
    """
    archive = evidence.run.checkpoint_log
    log = committed_batches(archive)
    found = ranges(log)
    told = evidence.recomputed
    delay_ms = None
    _refuse_unplanned(evidence, told)
    if told.get("delay_ms") is not None:
        delay_ms = count(told, "delay_ms", "recomputed.json")
    rests = told.get("rests_on_log", True)
    wrong, held = _watermarks(evidence, log, found, delay_ms) if rests else ([], 0)
    hurt = damaged(evidence)
    said = [
        *whole_log(evidence, log, hurt),
        *_beside_the_recomputed(evidence, told, log),
        *wrong,
    ]
    numbers = {"batches": len(log), "watermarks_held_back": held}
    if said:
        return Finding("offset_log", Grade.UNKNOWN, "; ".join(said), numbers)
    reason = f"The offset log of {len(log):,} batches is whole{_beside(evidence, rests, hurt)}"
    if delay_ms is not None:
        reason += ", and every watermark follows from the events"
    if held:
        reason += f", but for {held:,} that a repeated batch held back, which makes no row late"
    return Finding("offset_log", Grade.PASS, reason, numbers)


def _beside(evidence: Evidence, rests: bool, hurt: set[str]) -> str:
    """Return what is to be known of the log that was found whole."""
    anew = len(queries(evidence.run.checkpoint_log)) - 1
    told = {
        " and covers the ledger": not evidence.plan.fails_for_good,
        ", as the engine wrote it and not as a fault left it": bool(hurt),
        "; what is expected does not rest on it": not rests,
        f"; the checkpoint was lost and begun anew {anew:,} time(s)": bool(anew),
    }
    return "".join(words for words, is_so in told.items() if is_so)


def whole_log(evidence: Evidence, log: list[Planned], hurt: set[str]) -> Iterator[str]:
    """Yield what is wrong with the archived log of a run, beside its ledger and its checkpoint."""
    yield from unexplained(log_troubles(evidence.run.checkpoint, evidence.run.checkpoint_log), hurt)
    yield from _beside_the_ledger(evidence, log)
    _, last = newest(evidence.run.checkpoint)
    if last >= len(log):
        yield f"commits/{last} is in the checkpoint and was never archived"


def _refuse_unplanned(evidence: Evidence, told: dict[str, Any]) -> None:
    """Raise `EvidenceError` where the reference that was recomputed is not the plan's."""
    for name in ("delay_ms", "rests_on_log"):
        if (planned := getattr(evidence.reference, name)) != (found := told.get(name)):
            raise EvidenceError(
                f"the plan's reference has {name} {planned}, and recomputed.json says {found}:"
                " recompute"
            )


def _beside_the_ledger(evidence: Evidence, log: list[Planned]) -> Iterator[str]:
    if evidence.plan.fails_for_good:
        return
    ends = position(log)
    for (topic, partition), offsets in evidence.ledger.offsets.items():
        if (end := ends.get((topic, partition), 0)) <= offsets[-1]:
            yield (
                f"the offset log reads {topic}-{partition} up to {end:,}, and the ledger goes on to"
                f" {offsets[-1]:,}"
            )


def _beside_the_recomputed(
    evidence: Evidence, told: dict[str, Any], log: list[Planned]
) -> Iterator[str]:
    if (batches := count(told, "batches", "recomputed.json")) != len(log):
        yield (
            f"the expected rows were recomputed from {batches:,} batches, and {len(log):,} are"
            " committed: recompute"
        )
    covered = evidence.ledger.covered_by(position(log))
    if (recomputed := count(told, "covered", "recomputed.json")) != covered:
        yield (
            f"the expected rows were recomputed from {recomputed:,} records, and the log covers"
            f" {covered:,} of the ledger: recompute"
        )


def _watermarks(
    evidence: Evidence, log: list[Planned], found: list[Range], delay_ms: int | None
) -> tuple[list[str], int]:
    """Return what is wrong with W, and how often it stood still where it need not have.

    A sink that skips a repeated batch keeps the engine from seeing its events; then W stands still.
    """
    events = _newest_events(evidence, found) if delay_ms is not None else {}
    repeated = _repeated(evidence)
    wrong, held = [], 0
    for step in log:
        after = committed(evidence.run.checkpoint_log, step.batch).next_watermark_ms
        moved = events.get(step.batch, 0) - (delay_ms or 0)
        wanted = max(step.watermark_ms, moved)
        if after == wanted:
            continue
        if after == step.watermark_ms and step.batch in repeated:
            held += 1
        else:
            wrong.append(
                f"batch {step.batch} moved the watermark to {after}, and by its events it is"
                f" {wanted}"
            )
    if log[0].watermark_ms:
        wrong.append(f"batch 0 begins with the watermark {log[0].watermark_ms}")
    return wrong, held


def _newest_events(evidence: Evidence, found: list[Range]) -> dict[int, int]:
    import pyarrow as pa

    names = "topic", "partition", "begin", "end", "batch"
    columns = {name: [getattr(one, name) for one in found] for name in names}
    with open_database() as store:
        store.register("ranges", pa.table(columns))
        return dict(query_parquet(evidence.run.ledger, _NEWEST_EVENTS, store))


def _repeated(evidence: Evidence) -> set[int | None]:
    """Return the batches during which an attempt was started: one that was planned before it."""
    planned: dict[int | None, int] = {}
    starts = [record.seq for record in evidence.of(Op.ATTEMPT_START)]
    found = set()
    for record in evidence.of(Op.BATCH_OFFSETS, Op.BATCH_COMMIT):
        if record.op is Op.BATCH_OFFSETS:
            planned.setdefault(record.batch, record.seq)
        elif any(planned.get(record.batch, record.seq) < start < record.seq for start in starts):
            found.add(record.batch)
    return found
