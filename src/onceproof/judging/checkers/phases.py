"""Every phase of a run ended, and none failed."""

from __future__ import annotations

from collections.abc import Iterable

from onceproof.runs.evidence import Evidence
from onceproof.runs.parts import USED
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade


def phases(evidence: Evidence, needed: Iterable[str] = USED) -> Finding:
    """Return UNKNOWN for a phase that failed, with its error, or whose end is not recorded.

    Of a repeated phase the last end counts. If a phase failed, phases that never began are not
    named.
    """
    last = {record.actor: record for record in evidence.of(Op.PHASE_START, Op.PHASE_END)}
    problems = []
    for name, record in last.items():
        if record.op is Op.PHASE_START:
            problems.append(f"{name} has no recorded end")
        elif not record.is_ok:
            problems.append(f"{name} failed: {record.proof.get('reason', 'no reason recorded')}")
    missing = [name for name in needed if name not in last]
    if missing and not problems:
        problems.append(f"No record of {', '.join(missing)} in the history; run the scenario again")
    numbers = {"phases": len(last)}
    if problems:
        return Finding("phases", Grade.UNKNOWN, "; ".join(problems), numbers)
    reason = f"Every phase ended without an error: {', '.join(last)}"
    return Finding("phases", Grade.PASS, reason, numbers)
