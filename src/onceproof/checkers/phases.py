"""Every phase that was begun came to its end, and none failed."""

from __future__ import annotations

from onceproof.evidence import Evidence
from onceproof.records import Op
from onceproof.verdict import Finding, Grade


def phases(evidence: Evidence) -> Finding:
    """Say UNKNOWN for a phase that failed, with what it said, or that nobody saw the end of.

    A phase that was repeated counts as it ended last.
    """
    last = {record.actor: record for record in evidence.of(Op.PHASE_START, Op.PHASE_END)}
    said = []
    for name, record in last.items():
        if record.op is Op.PHASE_START:
            said.append(f"Nobody saw the end of {name}")
        elif not record.is_ok:
            said.append(f"{name} failed: {record.proof.get('reason', 'it did not say why')}")
    numbers = {"phases": len(last)}
    if said:
        return Finding("phases", Grade.UNKNOWN, "; ".join(said), numbers)
    reason = f"Every phase came to its end: {', '.join(last)}" if last else "No phase was recorded"
    return Finding("phases", Grade.PASS, reason, numbers)
