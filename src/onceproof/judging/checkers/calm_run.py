"""The calm run, where its output is the expectation, holds as evidence itself."""

from __future__ import annotations

from collections.abc import Callable

from onceproof.checkpoint.coverage import committed_batches
from onceproof.errors import EvidenceError
from onceproof.judge.checkers.ended import ended
from onceproof.judge.checkers.faults_landed import faults_landed
from onceproof.judge.checkers.input_committed import input_committed
from onceproof.judge.checkers.input_kept import input_kept
from onceproof.judge.checkers.log_recorded import log_recorded
from onceproof.judge.checkers.offset_log import whole_log
from onceproof.judge.checkers.phases import phases
from onceproof.judge.checkers.reads import reads
from onceproof.judge.checkers.same_run import same_run
from onceproof.references.declared import CALM
from onceproof.run.evidence import Evidence
from onceproof.run.parts import OF_CALM
from onceproof.verdict import Finding, Grade

_HELD: tuple[Callable[[Evidence], Finding], ...] = (
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
    """Say UNKNOWN unless the calm run was planned as this one without faults, and is whole."""
    if evidence.plan.output.reference != CALM:
        return Finding("calm_run", Grade.PASS, "No calm run is the expectation here")
    calm = Evidence(evidence.run.calm)
    try:
        said = _troubles(evidence, calm)
    except EvidenceError as error:
        said = [str(error)]
    if said:
        return Finding("calm_run", Grade.UNKNOWN, f"Of the calm run: {'; '.join(said)}")
    reason = "The calm run ended by itself, at rest, with all of its input committed"
    return Finding("calm_run", Grade.PASS, reason)


def _troubles(evidence: Evidence, calm: Evidence) -> list[str]:
    if calm.plan != evidence.plan.calm():
        return ["its plan is not that of this run without faults"]
    found = (hold(calm) for hold in _HELD)
    said = [one.reason for one in found if one.verdict is not Grade.PASS]
    return [*said, *whole_log(calm, committed_batches(calm.run.checkpoint_log), set())]
