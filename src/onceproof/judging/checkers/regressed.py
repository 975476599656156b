"""A value that a reader has seen is never replaced by an older one."""

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

    If the plan promises a version column, rows without a version are UNKNOWN.
    """
    plan, promise = evidence.plan, evidence.plan.claim.promise
    if plan.output.writes is Writes.APPEND:
        return not_applicable("regressed", "Rows are only appended: no value can be replaced")
    if not evidence.reads.has_column("version"):
        if plan.output.versioned:
            raise EvidenceError("the plan promises a version column, but no row has a version")
        why = "Rows have no version: an older value cannot be recognized"
        return not_applicable("regressed", why)
    counts = {Anomaly.REGRESSED: evidence.reads.count(_GONE_BACK)}
    return weigh("regressed", counts, promise, "No visible value was replaced by an older one")
