"""The checkers that are UNKNOWN only because the phase that produces their evidence failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onceproof.judging.checkers.phases import phases
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.parts import USED
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade

CAUSE = phases.__name__
_PROCESS = "process"
# The phase that produces a checker's evidence, or the last of them.
RESTS_ON: Mapping[str, str] = {
    "rows": "compare",
    "expectations": "validate",
    "faults_landed": _PROCESS,
    "effects": _PROCESS,
    "unexplained": _PROCESS,
    "input_committed": _PROCESS,
    "input_kept": "observe",
    "same_run": "prepare",
    "calm_run": "prepare",
    "restarted": _PROCESS,
    "offset_log": _PROCESS,
    "log_recorded": _PROCESS,
    "state": "recompute",
    "ended": _PROCESS,
    "reads": "observe",
    "uncommitted_read": _PROCESS,
    "torn": _PROCESS,
    "reordered": _PROCESS,
    "regressed": _PROCESS,
    "zombie": _PROCESS,
    "stuck": "observe",
}


def follow_ups(evidence: Evidence, findings: Iterable[Finding]) -> set[str]:
    """Return the checkers that are UNKNOWN because their phase failed, or therefore never began.

    The phase `process` leaves evidence even if it failed: findings about that are not follow-ups.
    """
    records = or_none(lambda: evidence.of(Op.PHASE_START, Op.PHASE_END)) or []
    last = {record.actor: record for record in records}
    broken = {name for name, one in last.items() if one.op is Op.PHASE_START or not one.is_ok}
    lacking = (set(USED) - last.keys()) | (broken - {_PROCESS}) if broken else set()
    return {
        one.checker
        for one in findings
        if one.verdict is Grade.UNKNOWN and not one.traceback
        if RESTS_ON.get(one.checker) in lacking
    }
