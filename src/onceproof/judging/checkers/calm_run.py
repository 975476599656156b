"""The calm run, if its output is the expectation, is sound evidence itself."""

from __future__ import annotations

from collections.abc import Callable

from onceproof.checkpoint.coverage import committed_batches
from onceproof.errors import EvidenceError
from onceproof.judging.checkers.ended import ended
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.judging.checkers.input_committed import input_committed
from onceproof.judging.checkers.input_kept import input_kept
from onceproof.judging.checkers.log_recorded import log_recorded
from onceproof.judging.checkers.offset_log import log_problems
from onceproof.judging.checkers.phases import phases
from onceproof.judging.checkers.reads import reads
from onceproof.judging.checkers.same_run import same_run
from onceproof.references.declared import CALM
from onceproof.runs.evidence import Evidence
from onceproof.runs.parts import OF_CALM
from onceproof.verdict import Finding, Grade, not_applicable

_CHECKS: tuple[Callable[[Evidence], Finding], ...] = (
    lambda calm: phases(calm, OF_CALM),
    same_run,
    ended,
    faults_landed,
    input_committed,
    input_kept,
    log_recorded,
    reads,
)


def calm_run(evidence: Evidence) -> Finding:
    """Return UNKNOWN unless the calm run is complete and was planned as this run without faults."""
    if evidence.plan.output.reference != CALM:
        return not_applicable("calm_run", "The expected rows do not come from a calm run")
    calm = Evidence(evidence.run.calm)
    try:
        problems = _problems(evidence, calm)
    except EvidenceError as error:
        problems = [str(error)]
    if problems:
        return Finding("calm_run", Grade.UNKNOWN, f"Calm run: {'; '.join(problems)}")
    reason = "The calm run ended by itself, with all input committed and its output stable"
    return Finding("calm_run", Grade.PASS, reason)


def _problems(evidence: Evidence, calm: Evidence) -> list[str]:
    if calm.plan != evidence.plan.calm():
        return ["its plan is not this run's plan without faults"]
    findings = (check(calm) for check in _CHECKS)
    problems = [one.reason for one in findings if one.verdict is not Grade.PASS]
    return [*problems, *log_problems(calm, committed_batches(calm.run.checkpoint_log), set())]
