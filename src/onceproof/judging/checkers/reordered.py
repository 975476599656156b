"""The rows of each key become visible in order."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import Writes
from onceproof.verdict import Finding, not_applicable, weigh

# Only the first copy of a row counts: a second one is duplicated, not reordered. Rows of one poll
# without a position have no order among themselves.
_LATE_ROWS = """
    with firsts as (
        select key, version, poll, position from reads where copies > 0
        qualify row_number() over (partition by key, version, value order by poll, position) = 1
    ), behind as (
        select version, max(version) over (
            partition by key order by poll, position
            range between unbounded preceding and current row exclude group
        ) as newest from firsts
    )
    select count(*) from behind where version < newest"""


def reordered(evidence: Evidence) -> Finding:
    """Count the rows that became visible after a newer row of their key.

    If the sink declares an order, rows without a version are UNKNOWN.
    """
    plan, promise = evidence.plan, evidence.plan.claim.promise
    if plan.output.writes is Writes.UPSERT:
        why = "Rows replace each other: an older one counts as regressed"
        return not_applicable("reordered", why)
    if not evidence.reads.has_column("version"):
        if promise.ordered or plan.output.versioned:
            raise EvidenceError("the plan promises ordered rows, but no row has a version")
        why = "Rows have no version: their order cannot be recognized"
        return not_applicable("reordered", why)
    counts = {Anomaly.REORDERED: evidence.reads.count(_LATE_ROWS)}
    return weigh("reordered", counts, promise, "The rows of each key became visible in order")
