"""The last commit covers all acknowledged input."""

from __future__ import annotations

from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade


def input_committed(evidence: Evidence) -> Finding:
    """Return UNKNOWN unless the engine's last commit covers the ledger, with no batch missing.

    Input that was not read yet is not lost: a run that ended too early proves nothing.
    """
    ledger = evidence.ledger
    last = evidence.positions[-1][1] if evidence.positions else {}
    committed = ledger.covered_by(last)
    numbers = {
        "offered": ledger.offered,
        "acknowledged": ledger.acknowledged,
        "committed": committed,
    }
    problems = []
    if not ledger.acknowledged:
        problems.append("No input was acknowledged, so nothing is proved")
    fails = evidence.plan.fails_for_good
    if fails and committed == ledger.acknowledged:
        problems.append("The job was planned to fail for good, but it committed all input")
    for (topic, partition), offsets in () if fails else ledger.offsets.items():
        if last.get((topic, partition), 0) <= offsets[-1]:
            problems.append(
                f"{topic}-{partition} is committed only up to {last.get((topic, partition), 0):,},"
                f" but the ledger has input up to {offsets[-1]:,}"
            )
    problems += _missing_batches(evidence)
    if problems:
        return Finding("input_committed", Grade.UNKNOWN, "; ".join(problems), numbers)
    if fails:
        reason = (
            f"{committed:,} of {ledger.acknowledged:,} acknowledged input records were committed"
            " before the job failed for good, as planned"
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
    return [f"Batch {missing} was never committed, but batch {newest} was"]
