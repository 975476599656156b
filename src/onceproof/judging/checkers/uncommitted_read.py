"""No reader saw rows that were removed later."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import Writes
from onceproof.runs.records import Op, Outcome
from onceproof.verdict import Finding, Grade, weigh

BatchAttempt = tuple[int | None, int | None]
# An appended row must be there at the end; of an upserted row, at least its key.
_TAKEN_BACK = {
    Writes.APPEND: """
        select count(*) from (
            select copies, decided, sum(copies) over (partition by key, value) as at_the_end
            from reads left join decisions using (batch, attempt)
        ) where copies > 0 and (decided = 'abort' or at_the_end = 0)""",
    Writes.UPSERT: """
        select count(*) from (
            select copies, decided, sum(copies) over (partition by key) as at_the_end
            from reads left join decisions using (batch, attempt)
        ) where copies > 0 and (decided = 'abort' or at_the_end = 0)""",
}
# An appended row must not be gone in between, unless an equal row replaced it in the same poll.
_GONE = """
    select -sum(copies) from (
        select sum(copies) as copies from reads group by poll, key, value
    ) where copies < 0"""
_UNDECIDED = """
    select count(*) from reads join decisions using (batch, attempt)
    where copies > 0 and decided = 'unknown'"""


def uncommitted_read(evidence: Evidence) -> Finding:
    """Count the visible rows of attempts that were aborted, and visible rows that were gone later.

    Visible rows of a decision with an unknown outcome are neither: they make the finding UNKNOWN.
    """
    reads = evidence.reads
    decided = [(*key, word) for key, word in decisions(evidence).items()]
    reads.table("decisions", {"batch": int, "attempt": int, "decided": str}, decided)
    writes = evidence.plan.output.writes
    gone = reads.count(_GONE) if writes is Writes.APPEND else 0
    taken_back = max(gone, reads.count(_TAKEN_BACK[writes]))
    undecided = reads.count(_UNDECIDED)
    finding = weigh(
        "uncommitted_read",
        {Anomaly.UNCOMMITTED_READ: taken_back},
        evidence.plan.claim.promise,
        "Every row that a reader saw stayed visible",
        {"undecided": undecided},
    )
    if undecided and finding.verdict is Grade.PASS:
        reason = f"{undecided:,} visible rows are of a decision with an unknown outcome"
        return Finding("uncommitted_read", Grade.UNKNOWN, reason, finding.numbers)
    return finding


def decisions(evidence: Evidence) -> dict[BatchAttempt, str]:
    """Return the decision on each attempt at a batch: `commit`, `abort` or `unknown`."""
    found: dict[BatchAttempt, str] = {}
    for record in evidence.of(Op.DECISION):
        at = (record.batch, record.attempt)
        if record.outcome is Outcome.UNKNOWN:
            found.setdefault(at, "unknown")
        if not record.is_ok:
            continue
        word = record.proof["decided"]
        if word not in ("commit", "abort"):
            raise EvidenceError(
                f"batch {record.batch} has the decision {word!r}, not commit or abort"
            )
        if found.get(at, word) not in (word, "unknown"):
            raise EvidenceError(
                f"batch {record.batch} of attempt {record.attempt} was both committed and aborted"
            )
        found[at] = word
    return found
