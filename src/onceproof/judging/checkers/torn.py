"""Each batch came into sight whole."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.verdict import Finding, not_applicable, weigh

# A batch is whole at the poll that shows the last of its rows that are new. Not new is what a
# later attempt wrote once more, and what had been gone before.
_PART_VISIBLE = """
    with every as (
        select batch, attempt, copies, poll,
            first_value(attempt) over (same order by poll, attempt) as first_attempt,
            coalesce(sum((copies < 0)::int) over (same order by poll), 0) as gone_before
        from reads window same as (partition by batch, key, value)
    ), whole as (
        select batch, poll, max(poll) over (partition by batch) as whole_at
        from every
        where copies > 0 and gone_before = 0 and attempt is not distinct from first_attempt
    )
    select count(*), count(distinct batch) from whole where poll < whole_at"""


def torn(evidence: Evidence) -> Finding:
    """Count the rows that a reader saw before the rest of their batch.

    Where the sink promises atomic batches, rows that do not tell their batch are UNKNOWN.
    """
    reads, promise = evidence.reads, evidence.plan.claim.promise
    if not reads.tells("batch"):
        if promise.atomic_batches:
            raise EvidenceError("the sink declares atomic batches, and no row tells its batch")
        return not_applicable("torn", "Rows carry no batch number, so torn batches cannot be seen")
    rows, batches = reads.ask(_PART_VISIBLE)[0]
    clean = "Every batch came into sight whole"
    return weigh("torn", {Anomaly.TORN: rows}, promise, clean, {"torn_batches": batches})
