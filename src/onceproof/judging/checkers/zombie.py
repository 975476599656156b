"""A replaced attempt writes no rows, and no attempt adds rows to a committed batch."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.judging.checkers.uncommitted_read import decisions
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op
from onceproof.verdict import Finding, not_applicable, weigh

# The families of sinks whose rows are all visible once their batch is committed. A log applies them
# later, and a decided transaction may be carried out later.
_AT_ONCE = ("append", "idempotent")
# Two polls must have begun after the replacement or commit: one without the row, and the one that
# showed it. A decision or commit before a replacement may be carried out after it.
_TOO_LATE = """
    with looks as (select number, lag(since) over (order by number) as since_before from polls),
    -- the first commit of each batch since an attempt began, which may run the batch again
    closed as (
        select batch, attempt, min(committed_at) as closed_at from committed
        join began on began_at < committed_at group by all
    )
    select reads.batch, reads.attempt, count(*) from reads
    join looks on number = poll
    left join replaced on replaced.attempt = reads.attempt
    left join closed
        on closed.batch = reads.batch and closed.attempt = reads.attempt
    where copies > 0 and (since_before >= closed_at or since_before >= replaced_at and not exists (
        from settled where settled.batch = reads.batch and settled.seq < replaced_at
            and coalesce(settled.attempt, reads.attempt) = reads.attempt
    )) group by all order by all"""


def zombie(evidence: Evidence) -> Finding:
    """Count the rows that became visible after their attempt had lost the right to write them.

    Either the attempt was replaced: it had ended and another had started; of two that run at the
    same time, neither is replaced. Or the batch was committed, by this attempt or by a concurrent
    one. Rows of an attempt that never started are UNKNOWN.
    """
    reads, promise = evidence.reads, evidence.plan.claim.promise
    if not (reads.has_column("attempt") and reads.has_column("batch")):
        why = "Rows have no attempt and batch number: zombies cannot be recognized"
        return not_applicable("zombie", why)
    starts = {record.attempt for record in evidence.of(Op.ATTEMPT_START)}
    unknown = {row[0] for row in reads.ask("select distinct attempt from reads")} - starts
    if unknown:
        raise EvidenceError(f"the reader saw rows of attempt {min(unknown)}, which never started")
    counts = {Anomaly.ZOMBIE: sum(rows for _, _, rows in written_too_late(evidence))}
    clean = "No attempt wrote rows after it was replaced"
    return weigh("zombie", counts, promise, clean, {"attempts": len(starts)})


def written_too_late(evidence: Evidence) -> list[tuple[int, int, int]]:
    """Return the number of rows written too late, by batch and attempt."""
    starts, ends = (
        {record.attempt: record.seq for record in evidence.of(op)}
        for op in (Op.ATTEMPT_START, Op.ATTEMPT_END)
    )
    for name, columns, rows in (
        ("replaced", ("attempt", "replaced_at"), _replacements(starts, ends)),
        ("settled", ("batch", "attempt", "seq"), _settled(evidence)),
        ("began", ("attempt", "began_at"), list(starts.items())),
        ("committed", ("batch", "committed_at"), _committed(evidence)),
    ):
        evidence.reads.table(name, dict.fromkeys(columns, int), rows)
    return evidence.reads.ask(_TOO_LATE)


def _replacements(
    starts: dict[int | None, int], ends: dict[int | None, int]
) -> list[tuple[int | None, ...]]:
    return [
        (attempt, max(min(later), ends[attempt]))
        for attempt, seq in starts.items()
        if attempt in ends and (later := [other for other in starts.values() if other > seq])
    ]


def _settled(evidence: Evidence) -> list[tuple[int | None, ...]]:
    committed = {at for at, word in decisions(evidence).items() if word == "commit"}
    return [
        (record.batch, record.attempt if record.op is Op.DECISION else None, record.seq)
        for record in evidence.of(Op.DECISION, Op.BATCH_COMMIT)
        if record.is_ok
        and (record.op is Op.BATCH_COMMIT or (record.batch, record.attempt) in committed)
    ]


def _committed(evidence: Evidence) -> list[tuple[int | None, ...]]:
    """Return the commits that close their batch; none for sinks that apply rows later."""
    if evidence.plan.output.family not in _AT_ONCE:
        return []
    return [(record.batch, record.seq) for record in evidence.of(Op.BATCH_COMMIT) if record.is_ok]
