"""The calm run, where its output is the expectation, holds as evidence itself."""

from __future__ import annotations

from collections.abc import Callable

from onceproof.checkpoint.coverage import committed_batches
from onceproof.errors import EvidenceError
from onceproof.judging.checkers.ended import ended
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.judging.checkers.input_committed import input_committed
from onceproof.judging.checkers.input_kept import input_kept
from onceproof.judging.checkers.log_recorded import log_recorded
from onceproof.judging.checkers.offset_log import whole_log
from onceproof.judging.checkers.phases import phases
from onceproof.judging.checkers.reads import reads
from onceproof.judging.checkers.same_run import same_run
from onceproof.references.declared import CALM
from onceproof.runs.evidence import Evidence
from onceproof.runs.parts import OF_CALM
from onceproof.verdict import Finding, Grade, not_applicable

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
        return not_applicable("calm_run", "This run is not compared with a calm run")
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
