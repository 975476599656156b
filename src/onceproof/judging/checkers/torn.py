"""Each batch became visible as a whole."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.verdict import Finding, not_applicable, weigh

# A batch is whole at the poll that shows the last of its new rows. Rows that a later attempt wrote
# again, and rows that were gone in between, are not new.
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

    If the sink promises atomic batches, rows without a batch number are UNKNOWN.
    """
    reads, promise = evidence.reads, evidence.plan.claim.promise
    if not reads.has_column("batch"):
        if promise.atomic_batches:
            raise EvidenceError("the sink declares atomic batches, but no row has a batch number")
        return not_applicable(
            "torn", "Rows have no batch number: torn batches cannot be recognized"
        )
    rows, batches = reads.ask(_PART_VISIBLE)[0]
    clean = "Every batch became visible as a whole"
    return weigh("torn", {Anomaly.TORN: rows}, promise, clean, {"torn_batches": batches})
