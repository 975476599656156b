"""No attempt died and no task failed without a planned fault that explains it."""

from __future__ import annotations

from onceproof.judging.effects.measure import failures
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade

_MOST_SHOWN = 5


def unexplained(evidence: Evidence) -> Finding:
    """Say UNKNOWN for failures outside of the windows of all faults, unless the scenario allows it.

    Only an attempt after which the restart strategy was asked has died: others were ended.
    """
    found = failures(evidence)
    asked = {one.attempt: one for one in evidence.of(Op.RESTART)}
    died = [
        asked[end.attempt]
        for end, cause in found.attempts
        if cause is None and end.attempt in asked
    ]
    tasks = [one for one, cause in found.events if cause is None and one.what == "task_failed"]
    numbers = {"attempts": len(died), "tasks": len(tasks)}
    said = [_attempt(one) for one in died[:_MOST_SHOWN]]
    if tasks:
        first = tasks[0]
        said.append(
            f"{len(tasks)} task(s) failed, the first in attempt {first.attempt}:"
            f" {first.told.get('why', 'no reason is known')}"
        )
    if said:
        is_allowed = evidence.plan.unexplained_allowed
        grade = Grade.PASS if is_allowed else Grade.UNKNOWN
        words = "allowed by the scenario" if is_allowed else "no planned fault explains it"
        return Finding("unexplained", grade, f"{'; '.join(said)}: {words}", numbers)
    reason = "Each attempt that died and each task that failed is explained by a planned fault"
    if found.engine.unknown:
        attempt, why = next(iter(found.engine.unknown.items()))
        reason = (
            "Each attempt that died is explained by a planned fault; failed tasks are unknown:"
            f" {why} (attempt {attempt})"
        )
    return Finding("unexplained", Grade.PASS, reason, numbers)


def _attempt(restart: Record) -> str:
    said = restart.proof.get("said")
    return f"Attempt {restart.attempt} died{f' ({said})' if said else ''}"
