"""An attempt that was replaced writes no more."""

from __future__ import annotations

from onceproof.checkers.uncommitted_read import decisions
from onceproof.errors import EvidenceError
from onceproof.evidence import Evidence
from onceproof.guarantee import Anomaly
from onceproof.records import Op
from onceproof.verdict import Finding, weigh

# Two polls must have begun after the replacement: one that did not show the row, and the one that
# did. What was decided or committed before it may rightly be carried out after it.
_AFTER_REPLACEMENT = """
    with looks as (select number, lag(since) over (order by number) as since_before from polls)
    select count(*) from reads
    join replaced using (attempt)
    join looks on number = poll
    where copies > 0 and since_before >= replaced_at and not exists (
        from settled where settled.batch = reads.batch and settled.seq < replaced_at
            and coalesce(settled.attempt, reads.attempt) = reads.attempt
    )"""


def zombie(evidence: Evidence) -> Finding:
    """Count the rows that came into sight only after the attempt that wrote them was replaced.

    It was replaced when it had ended and another had started: of two that live at once neither is.
    Rows of an attempt that was never started are UNKNOWN.
    """
    reads, promise = evidence.reads, evidence.plan.claim.promise
    if not (reads.tells("attempt") and reads.tells("batch")):
        why = "Zombies were not looked for: rows tell no attempt and batch"
        return weigh("zombie", {}, promise, why)
    starts, ends = (
        {record.attempt: record.seq for record in evidence.of(op)}
        for op in (Op.ATTEMPT_START, Op.ATTEMPT_END)
    )
    strange = {row[0] for row in reads.ask("select distinct attempt from reads")} - starts.keys()
    if strange:
        raise EvidenceError(f"the reader saw rows of attempt {min(strange)}, which never started")
    reads.table("replaced", {"attempt": int, "replaced_at": int}, _replacements(starts, ends))
    columns = {"batch": int, "attempt": int, "seq": int}
    reads.table("settled", columns, _settled(evidence))
    counts = {Anomaly.ZOMBIE: reads.count(_AFTER_REPLACEMENT)}
    clean = "No attempt was seen to write after it had been replaced"
    return weigh("zombie", counts, promise, clean, {"attempts": len(starts)})


def _replacements(
    starts: dict[int | None, int], ends: dict[int | None, int]
) -> list[tuple[int | None, int]]:
    return [
        (attempt, max(min(later), ends[attempt]))
        for attempt, seq in starts.items()
        if attempt in ends and (later := [other for other in starts.values() if other > seq])
    ]


def _settled(evidence: Evidence) -> list[tuple[int | None, int | None, int]]:
    committed = {at for at, word in decisions(evidence).items() if word == "commit"}
    return [
        (record.batch, record.attempt if record.op is Op.DECISION else None, record.seq)
        for record in evidence.of(Op.DECISION, Op.BATCH_COMMIT)
        if record.is_ok
        and (record.op is Op.BATCH_COMMIT or (record.batch, record.attempt) in committed)
    ]
