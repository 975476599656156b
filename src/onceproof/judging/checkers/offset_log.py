"""The engine's offset log is consistent in itself and with the ledger and the watermarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onceproof.checkpoint.archive import queries
from onceproof.checkpoint.checks import log_troubles
from onceproof.checkpoint.coverage import Range, committed_batches, position, ranges
from onceproof.checkpoint.log import Planned, committed, newest
from onceproof.database import cursor
from onceproof.documents import count
from onceproof.errors import EvidenceError
from onceproof.judging.checkers.restarted import damaged, unexplained
from onceproof.runs.evidence import Evidence
from onceproof.runs.ledger import query_parquet
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade

# Each row of the ledger, in the batch whose range contains it.
_NEWEST_EVENTS = """
    select batch, max(event_ms) from (
        select event_ms, batch, "offset" >= "end" as behind
        from (select * from {rows} where "offset" is not null) sent
        asof join ranges on sent.topic = ranges.topic and sent.partition = ranges.partition
            and sent."offset" >= ranges."begin"
    ) where not behind group by batch"""


def offset_log(evidence: Evidence) -> Finding:
    """Return UNKNOWN if the offset log cannot be what the engine did: expected rows rest on it.

    Every watermark is recomputed from the events that the log places before it.
    """
    archive = evidence.run.checkpoint_log
    log = committed_batches(archive)
    found = ranges(log)
    recomputed = evidence.recomputed
    delay_ms = None
    _refuse_unplanned(evidence, recomputed)
    if recomputed.get("delay_ms") is not None:
        delay_ms = count(recomputed, "delay_ms", "recomputed.json")
    rests = recomputed.get("rests_on_log", True)
    wrong, held = _watermarks(evidence, log, found, delay_ms) if rests else ([], 0)
    hurt = damaged(evidence)
    problems = [
        *log_problems(evidence, log, hurt),
        *_against_recomputed(evidence, recomputed, log),
        *wrong,
    ]
    numbers = {"batches": len(log), "watermarks_held_back": held}
    if problems:
        return Finding("offset_log", Grade.UNKNOWN, "; ".join(problems), numbers)
    reason = f"The offset log of {len(log):,} batches is complete{_remarks(evidence, rests, hurt)}"
    if delay_ms is not None:
        reason += "; every watermark follows from the events"
    elif rests:
        reason += "; no watermark: late rows cannot occur"
    if held:
        reason += f" except {held:,} that a repeated batch held back, which makes no row late"
    return Finding("offset_log", Grade.PASS, reason, numbers)


def _remarks(evidence: Evidence, rests: bool, hurt: set[str]) -> str:
    new_queries = len(queries(evidence.run.checkpoint_log)) - 1
    remarks = {
        " and covers the ledger": not evidence.plan.fails_for_good,
        ", in the copy archived before a fault damaged it": bool(hurt),
        "; the expected rows do not rest on it": not rests,
        f"; the job went on without its lost checkpoint {new_queries:,} time(s)": bool(new_queries),
    }
    return "".join(words for words, holds in remarks.items() if holds)


def log_problems(evidence: Evidence, log: list[Planned], hurt: set[str]) -> Iterator[str]:
    """Yield what is wrong with a run's archived log, compared with its ledger and checkpoint."""
    yield from unexplained(log_troubles(evidence.run.checkpoint, evidence.run.checkpoint_log), hurt)
    yield from _against_ledger(evidence, log)
    _, last = newest(evidence.run.checkpoint)
    if last >= len(log):
        yield f"commits/{last} is in the checkpoint but not in the archive"


def _refuse_unplanned(evidence: Evidence, recomputed: dict[str, Any]) -> None:
    for name in ("delay_ms", "rests_on_log"):
        if (planned := getattr(evidence.reference, name)) != (found := recomputed.get(name)):
            raise EvidenceError(
                f"{name} is {found} in recomputed.json, but {planned} in the plan's reference;"
                " recompute"
            )


def _against_ledger(evidence: Evidence, log: list[Planned]) -> Iterator[str]:
    if evidence.plan.fails_for_good:
        return
    ends = position(log)
    for (topic, partition), offsets in evidence.ledger.offsets.items():
        if (end := ends.get((topic, partition), 0)) <= offsets[-1]:
            yield (
                f"the offset log has {topic}-{partition} up to {end:,}, but the ledger goes up to"
                f" {offsets[-1]:,}"
            )


def _against_recomputed(
    evidence: Evidence, recomputed: dict[str, Any], log: list[Planned]
) -> Iterator[str]:
    if (batches := count(recomputed, "batches", "recomputed.json")) != len(log):
        yield (
            f"the expected rows were recomputed from {batches:,} batches, but {len(log):,} are"
            " committed; recompute"
        )
    covered = evidence.ledger.covered_by(position(log))
    if (counted := count(recomputed, "covered", "recomputed.json")) != covered:
        yield (
            f"the expected rows were recomputed from {counted:,} records, but the log covers"
            f" {covered:,} of the ledger; recompute"
        )


def _watermarks(
    evidence: Evidence, log: list[Planned], found: list[Range], delay_ms: int | None
) -> tuple[list[str], int]:
    """Return the wrong watermarks, and the number of those that a repeated batch held back.

    If a sink skips a repeated batch, the engine does not see its events and the watermark does not
    advance.
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
                f"batch {step.batch} moved the watermark to {after}, but by its events it is"
                f" {wanted}"
            )
    if log[0].watermark_ms:
        wrong.append(f"batch 0 begins with the watermark {log[0].watermark_ms}")
    return wrong, held


def _newest_events(evidence: Evidence, found: list[Range]) -> dict[int, int]:
    import pyarrow as pa

    names = "topic", "partition", "begin", "end", "batch"
    columns = {name: [getattr(one, name) for one in found] for name in names}
    with cursor() as store:
        store.register("ranges", pa.table(columns))
        return dict(query_parquet(evidence.run.ledger, _NEWEST_EVENTS, store))


def _repeated(evidence: Evidence) -> set[int | None]:
    """Return the batches that were planned before the start of an attempt and committed after."""
    planned: dict[int | None, int] = {}
    starts = [record.seq for record in evidence.of(Op.ATTEMPT_START)]
    found = set()
    for record in evidence.of(Op.BATCH_OFFSETS, Op.BATCH_COMMIT):
        if record.op is Op.BATCH_OFFSETS:
            planned.setdefault(record.batch, record.seq)
        elif any(planned.get(record.batch, record.seq) < start < record.seq for start in starts):
            found.add(record.batch)
    return found
