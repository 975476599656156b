"""No committed row is hidden from readers by a transaction that was left open."""

from __future__ import annotations

from dataclasses import replace

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op
from onceproof.verdict import Finding, weigh

_MOST_NAMED = 3


def stuck(evidence: Evidence) -> Finding:
    """Count the hidden rows of the last look for open transactions, which must be after the end.

    A transaction that hides nobody knows how many rows counts as one. Those whose names the store
    tells are named.
    """
    looks = [r for r in evidence.of(Op.SINK_OPEN) if r.is_ok and r.seq > evidence.last_end]
    if not looks:
        raise EvidenceError("nobody looked for open transactions after the last attempt had ended")
    proof = looks[-1].proof
    counts = {Anomaly.STUCK: max(proof["hidden"], proof["open"])}
    clean = "No transaction is open, so nothing is hidden from readers"
    numbers = {"open": proof["open"], "hidden": proof["hidden"]}
    finding = weigh("stuck", counts, evidence.plan.claim.promise, clean, numbers)
    if names := proof.get("names"):
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        told = f"{finding.reason}; open is {', '.join(names[:_MOST_NAMED])}{more}"
        return replace(finding, reason=told)
    return finding
