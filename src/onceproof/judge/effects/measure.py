"""The effect of each strike: the failures that belong to it, counted, and the degree they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from onceproof.judge.effects import Degree
from onceproof.judge.effects.engine import Engine, Event, read_engine
from onceproof.judge.effects.passed_input import passed_input
from onceproof.judge.effects.slow import slower
from onceproof.judge.effects.windows import Window, cause_of_end, newest, windows
from onceproof.run.evidence import Evidence
from onceproof.run.records import Op, Outcome, Record

# What each number shows; the first degree that one of its numbers reaches is the effect's.
RESTARTED = ("attempts_ended",)
RETRIED = ("tasks_failed", "stages_again", "batches_again")
FELT = ("executors_lost", "polls_failed", "links", "input_passed")
_NUMBERS = {
    "task_failed": "tasks_failed",
    "stage_again": "stages_again",
    "batch_again": "batches_again",
    "executor_lost": "executors_lost",
}
# Sources of links that only the job or its producer has.
_OF_THE_JOB = ("driver=", "executor=", "producer")


@dataclass(frozen=True)
class Failures:
    """All that failed in a run, each with the window of the fault that explains it, if one does.

    What the engine tells after the last commit of an attempt that ended well was ended with it.
    """

    windows: list[Window]
    attempts: list[tuple[Record, Window | None]]
    events: list[tuple[Event, Window | None]]
    engine: Engine


def failures(evidence: Evidence) -> Failures:
    """Return the failures of a run; raise `EvidenceError` if the engine's record is damaged."""
    found, engine = windows(evidence), read_engine(evidence)
    starts = {one.attempt: one for one in evidence.of(Op.ATTEMPT_START)}
    ends = evidence.of(Op.ATTEMPT_END)
    attempts = [
        (end, cause_of_end(end, starts.get(end.attempt), found))
        for end in ends
        if end.outcome is Outcome.FAILED
    ]
    ended_by = {end.attempt: cause for end, cause in attempts if cause}
    ended_well = {end.attempt for end in ends if end.is_ok}
    over_s = max((one.wall for one in evidence.of(Op.BATCH_COMMIT) if one.is_ok), default=inf)
    events = [
        (one, _cause_of(one, found, ended_by.get(one.attempt)))
        for one in engine.events
        if one.attempt not in ended_well or one.at_s < over_s
    ]
    return Failures(found, attempts, events, engine)


def _cause_of(event: Event, found: list[Window], ended_by: Window | None) -> Window | None:
    """Return the fault that an event belongs to: by its time, or as the one that ended the job."""
    if by_time := newest(window for window in found if window.has_time(event.at_s)):
        return by_time
    return ended_by if ended_by and event.at_s >= ended_by.begins_s else None


def measure(evidence: Evidence, found: Failures, strike: Record) -> dict[str, Any]:
    """Return the effect of one strike: its degree, and the numbers behind it."""
    window = next(one for one in found.windows if one.strike.seq == strike.seq)
    counts = Counter(_NUMBERS[one.what] for one, cause in found.events if cause is window)
    counts["attempts_ended"] = sum(cause is window for _, cause in found.attempts)
    counts["polls_failed"] = sum(
        not one.is_ok and window.has(one.seq) for one in evidence.of(Op.POLL)
    )
    counts["links"] = _links(evidence, strike)
    counts["input_passed"] = passed_input(evidence, strike)
    told: dict[str, Any] = {name: counts[name] for name in (*RESTARTED, *RETRIED, *FELT)}
    told |= slower(evidence, window)
    unknown = _unknown(evidence, found.engine, window)
    return {"degree": str(_degree(told)), **told, **({"engine": unknown} if unknown else {})}


def _degree(told: Mapping[str, Any]) -> Degree:
    if any(told[name] for name in RESTARTED):
        return Degree.RESTARTED
    if any(told[name] for name in RETRIED):
        return Degree.RETRIED
    is_felt = any(value for name, value in told.items() if name not in (*RESTARTED, *RETRIED))
    return Degree.FELT if is_felt else Degree.NONE


def _links(evidence: Evidence, strike: Record) -> int:
    """Count what links did to the job and its producer alone: connections, or bytes of them."""
    rule = strike.proof.get("rule")
    pairs = rule.get("pairs", []) if isinstance(rule, dict) else []
    if not pairs or not all(str(who).startswith(_OF_THE_JOB) for who, _ in pairs):
        return 0
    heals = [one for one in evidence.of(Op.FAULT_HEAL) if one.actor == strike.actor]
    counts = [one.proof.get("counts") for one in (strike, *heals)]
    told = [one for one in counts if isinstance(one, dict)]
    return max((sum(value for value in one.values()) for one in told), default=0)


def _unknown(evidence: Evidence, engine: Engine, window: Window) -> str:
    """Return why an attempt that lived in the window left no record; empty if each left one."""
    ends = {one.attempt: one.seq for one in evidence.of(Op.ATTEMPT_END)}
    lived = {
        one.attempt
        for one in evidence.of(Op.ATTEMPT_START)
        if one.seq <= window.last and ends.get(one.attempt, window.last) >= window.first
    }
    return next((why for attempt, why in engine.unknown.items() if attempt in lived), "")
