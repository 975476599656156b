"""The checkers: functions from the evidence of a run to a `Finding`.

A checker reads evidence and nothing else. If evidence that it needs is missing it returns UNKNOWN
or raises `EvidenceError`, never PASS. Any other exception makes it UNKNOWN with a traceback. A
checker with nothing to check is `not_applicable`. Finding, function and module share one name.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence

from onceproof.errors import EvidenceError
from onceproof.judging.checkers.calm_run import calm_run
from onceproof.judging.checkers.effects import effects
from onceproof.judging.checkers.ended import ended
from onceproof.judging.checkers.expectations import expectations
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.judging.checkers.input_committed import input_committed
from onceproof.judging.checkers.input_kept import input_kept
from onceproof.judging.checkers.log_recorded import log_recorded
from onceproof.judging.checkers.offset_log import offset_log
from onceproof.judging.checkers.phases import phases
from onceproof.judging.checkers.reads import reads
from onceproof.judging.checkers.regressed import regressed
from onceproof.judging.checkers.reordered import reordered
from onceproof.judging.checkers.restarted import restarted
from onceproof.judging.checkers.rows import rows
from onceproof.judging.checkers.same_run import same_run
from onceproof.judging.checkers.state import state
from onceproof.judging.checkers.stuck import stuck
from onceproof.judging.checkers.torn import torn
from onceproof.judging.checkers.uncommitted_read import uncommitted_read
from onceproof.judging.checkers.unexplained import unexplained
from onceproof.judging.checkers.zombie import zombie
from onceproof.runs.evidence import Evidence
from onceproof.verdict import Finding, Grade

Checker = Callable[[Evidence], Finding]

CHECKERS: tuple[Checker, ...] = (
    rows,
    expectations,
    faults_landed,
    effects,
    unexplained,
    input_committed,
    input_kept,
    phases,
    same_run,
    calm_run,
    restarted,
    offset_log,
    log_recorded,
    state,
    ended,
    reads,
    uncommitted_read,
    torn,
    reordered,
    regressed,
    zombie,
    stuck,
)


def run_checkers(evidence: Evidence, checkers: Sequence[Checker] = CHECKERS) -> tuple[Finding, ...]:
    """Return the finding of every checker, in order; an exception in one does not stop the rest.

    If a phase failed, its finding comes first: it is why others miss their evidence.
    """
    found = [_found_by(checker, evidence) for checker in checkers]
    cause = phases.__name__, Grade.UNKNOWN
    return tuple(sorted(found, key=lambda one: (one.checker, one.verdict) != cause))


def _found_by(checker: Checker, evidence: Evidence) -> Finding:
    name = checker.__name__
    try:
        finding = checker(evidence)
        if finding.checker != name or not isinstance(finding.verdict, Grade):
            raise TypeError(f"the checker {name} must return its own Finding, not {finding!r}")
    except EvidenceError as error:
        return Finding(name, Grade.UNKNOWN, _sentence(str(error)))
    except Exception as error:  # any defect leaves the run unproved
        reason = f"The checker {name} raised {type(error).__name__}: {first_line(error)}"
        return Finding(name, Grade.UNKNOWN, reason, traceback=traceback.format_exc())
    return finding


def first_line(error: Exception) -> str:
    """Return the first line of an error's message; the rest is in its traceback."""
    return next(iter(str(error).splitlines()), "")


def _sentence(text: str) -> str:
    is_word = text.partition(" ")[0].isalpha()  # not a file name
    return text[:1].upper() + text[1:] if is_word else text
