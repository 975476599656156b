"""All input that was acknowledged is before the position of the last commit."""

from __future__ import annotations

from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade


def input_committed(evidence: Evidence) -> Finding:
    """Say UNKNOWN unless the engine's last commit covers the whole ledger, with no batch missing.

    What was not read yet is not lost yet: a run that ended too early proves nothing.
    """
    ledger = evidence.ledger
    last = evidence.positions[-1][1] if evidence.positions else {}
    committed = ledger.covered_by(last)
    numbers = {
        "offered": ledger.offered,
        "acknowledged": ledger.acknowledged,
        "committed": committed,
    }
    said = []
    if not ledger.acknowledged:
        said.append("No input was acknowledged, so nothing is proved")
    fails = evidence.plan.fails_for_good
    if fails and committed == ledger.acknowledged:
        said.append("The job was to fail for good, and it has committed all input")
    for (topic, partition), offsets in () if fails else ledger.offsets.items():
        if last.get((topic, partition), 0) <= offsets[-1]:
            said.append(
                f"Input was not all committed: {topic}-{partition} up to"
                f" {last.get((topic, partition), 0):,}, and the ledger goes on to {offsets[-1]:,}"
            )
    said += _missing_batches(evidence)
    if said:
        return Finding("input_committed", Grade.UNKNOWN, "; ".join(said), numbers)
    if fails:
        reason = (
            f"{committed:,} of {ledger.acknowledged:,} acknowledged input records were committed"
            " when the job had failed for good, as it was to"
        )
        return Finding("input_committed", Grade.PASS, reason, numbers)
    reason = f"All {ledger.acknowledged:,} acknowledged input records were committed"
    return Finding("input_committed", Grade.PASS, reason, numbers)


def _missing_batches(evidence: Evidence) -> list[str]:
    batches = {r.batch for r in evidence.of(Op.BATCH_COMMIT) if r.is_ok and r.batch is not None}
    newest = max(batches, default=-1)
    missing = next((batch for batch in range(newest) if batch not in batches), None)
    if missing is None:
        return []
    return [f"Batch {missing} was never committed, though batch {newest} was"]
