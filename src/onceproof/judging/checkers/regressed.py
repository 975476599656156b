"""A value that a reader has seen never goes back."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import Writes
from onceproof.verdict import Finding, not_applicable, weigh

_GONE_BACK = """
    select count(*) from (
        select version, max(version) over (
            partition by key order by poll, position
            range between unbounded preceding and current row exclude group
        ) as newest from reads where copies > 0
    ) where version < newest"""


def regressed(evidence: Evidence) -> Finding:
    """Count the values that a reader saw after a newer value of their key.

    Where the plan says that rows carry a version, rows that tell none are UNKNOWN.
    """
    plan, promise = evidence.plan, evidence.plan.claim.promise
    if plan.output.writes is Writes.APPEND:
        return not_applicable("regressed", "Rows are only added, so no value can go back")
    if not evidence.reads.tells("version"):
        if plan.output.versioned:
            raise EvidenceError("the plan says that rows carry a version, and no row tells one")
        why = "Rows carry no version, so a value that goes back cannot be seen"
        return not_applicable("regressed", why)
    counts = {Anomaly.REGRESSED: evidence.reads.count(_GONE_BACK)}
    return weigh("regressed", counts, promise, "No value that a reader had seen went back")
