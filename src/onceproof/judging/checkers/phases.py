"""Every phase of a run came to its end, and none failed."""

from __future__ import annotations

from collections.abc import Iterable

from onceproof.runs.evidence import Evidence
from onceproof.runs.parts import USED
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade


def phases(evidence: Evidence, needed: Iterable[str] = USED) -> Finding:
    """Say UNKNOWN for a phase that failed, with what it said, or whose end is not recorded.

    A phase that was repeated counts as it ended last. Where one failed, those that it kept from
    beginning are not named.
    """
    last = {record.actor: record for record in evidence.of(Op.PHASE_START, Op.PHASE_END)}
    said = []
    for name, record in last.items():
        if record.op is Op.PHASE_START:
            said.append(f"Nobody saw the end of {name}")
        elif not record.is_ok:
            said.append(f"{name} failed: {record.proof.get('reason', 'it did not say why')}")
    missing = [name for name in needed if name not in last]
    if missing and not said:
        said.append(f"The history has no record of {', '.join(missing)}: run the scenario again")
    numbers = {"phases": len(last)}
    if said:
        return Finding("phases", Grade.UNKNOWN, "; ".join(said), numbers)
    reason = f"Every phase came to its end: {', '.join(last)}"
    return Finding("phases", Grade.PASS, reason, numbers)
