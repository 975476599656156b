"""No open transaction hides committed rows from readers."""

from __future__ import annotations

from dataclasses import replace

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op
from onceproof.verdict import Finding, weigh

_MOST_NAMED = 3


def stuck(evidence: Evidence) -> Finding:
    """Count the rows hidden by open transactions, as found after the end of the last attempt.

    A transaction with an unknown number of hidden rows counts as one. The reason names those whose
    name the store reports.
    """
    looks = [r for r in evidence.of(Op.SINK_OPEN) if r.is_ok and r.seq > evidence.last_end]
    if not looks:
        raise EvidenceError("no search for open transactions after the last attempt ended")
    proof = looks[-1].proof
    counts = {Anomaly.STUCK: max(proof["hidden"], proof["open"])}
    clean = "No transaction is open, so nothing is hidden from readers"
    numbers = {"open": proof["open"], "hidden": proof["hidden"]}
    finding = weigh("stuck", counts, evidence.plan.claim.promise, clean, numbers)
    if names := proof.get("names"):
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        reason = f"{finding.reason}; open is {', '.join(names[:_MOST_NAMED])}{more}"
        return replace(finding, reason=reason)
    return finding
