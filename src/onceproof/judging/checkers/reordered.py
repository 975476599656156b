"""Rows of one key come into sight in their order."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import Writes
from onceproof.verdict import Finding, not_applicable, weigh

# Only the first copy of a row counts: what is written twice is duplicated, not reordered. Rows of
# one poll without a position have no order among themselves.
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
    """Count the rows that came into sight after a newer row of their key.

    Where the sink declares an order, rows that tell no version are UNKNOWN.
    """
    plan, promise = evidence.plan, evidence.plan.claim.promise
    if plan.output.writes is Writes.UPSERT:
        why = "Rows replace each other: one that goes back counts as regressed"
        return not_applicable("reordered", why)
    if not evidence.reads.tells("version"):
        if promise.ordered or plan.output.versioned:
            raise EvidenceError("the plan says that rows have an order, and no row tells a version")
        why = "Rows carry no version, so their order cannot be seen"
        return not_applicable("reordered", why)
    counts = {Anomaly.REORDERED: evidence.reads.count(_LATE_ROWS)}
    return weigh("reordered", counts, promise, "The rows of each key came in their order")
