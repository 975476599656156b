"""Every crash of an attempt and every failed task is explained by a planned fault."""

from __future__ import annotations

from onceproof.judging.effects.measure import failures
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade

_MOST_SHOWN = 5


def unexplained(evidence: Evidence) -> Finding:
    """Return UNKNOWN for failures outside the windows of all faults, unless the scenario allows it.

    Only attempts that the restart strategy was asked about crashed: the others were ended.
    """
    found = failures(evidence)
    asked = {one.attempt: one for one in evidence.of(Op.RESTART)}
    crashed = [
        asked[end.attempt]
        for end, cause in found.attempts
        if cause is None and end.attempt in asked
    ]
    tasks = [one for one, cause in found.events if cause is None and one.what == "task_failed"]
    numbers = {"attempts": len(crashed), "tasks": len(tasks)}
    failed = [_attempt(one) for one in crashed[:_MOST_SHOWN]]
    if tasks:
        first = tasks[0]
        failed.append(
            f"{len(tasks)} task(s) failed, the first in attempt {first.attempt}:"
            f" {first.fields.get('why', 'no reason recorded')}"
        )
    if failed:
        is_allowed = evidence.plan.unexplained_allowed
        grade = Grade.PASS if is_allowed else Grade.UNKNOWN
        remark = "allowed by the scenario" if is_allowed else "no planned fault explains it"
        reason = f"{'; '.join(failed)}: {remark}"
        return Finding("unexplained", grade, reason, numbers, is_allowed=is_allowed)
    reason = "A planned fault explains every crash of an attempt and every failed task"
    if not found.attempts and not found.events:
        reason = "No attempt crashed and no task failed"
    if found.engine.unknown:
        attempt, why = next(iter(found.engine.unknown.items()))
        reason = (
            "A planned fault explains every crash of an attempt; failed tasks are unknown:"
            f" {why} (attempt {attempt})"
        )
    return Finding("unexplained", Grade.PASS, reason, numbers)


def _attempt(restart: Record) -> str:
    message = restart.proof.get("said")
    return f"Attempt {restart.attempt} crashed{f' ({message})' if message else ''}"
