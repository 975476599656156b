"""The effect of each strike: the number of failures that it caused, and their degree.

The extract of the engine's record is read in order of time. A commit, a poll or an acknowledgement
counts as slower after a strike only if it took at least `LEAST_S` longer than the longest before
the strike, and at least `TIMES` as long. Without a measurement before the strike, nothing counts as
slower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import count, field, parse_object
from onceproof.errors import EvidenceError, unknown
from onceproof.judging.effects import Degree
from onceproof.judging.effects.windows import Window, cause_of_end, newest, windows
from onceproof.runs.engine_log import NO_LOG
from onceproof.runs.evidence import Evidence, by_partition
from onceproof.runs.ledger import Partition
from onceproof.runs.plan import IN_TURNS
from onceproof.runs.records import Op, Outcome, Record

# The numbers of each degree; the effect has the first degree with a number above 0.
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
EVENTS = ("task_failed", "executor_lost", "stage_again", "batch_again")
LEAST_S = 2.0
TIMES = 3
Spans = Iterable[tuple[Record, Record]]


@dataclass(frozen=True)
class Failures:
    """All failures of a run, each with the window of the fault that explains it, or None.

    Events that the end of an attempt that ended well caused are left out.
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
    over_s = {end.attempt: _last_commit_s(evidence, end) for end in ends if end.is_ok}
    in_turns = evidence.plan.lives == IN_TURNS  # then only the executors are lost by the end
    events = [
        (one, _cause_of(one, found, ended_by.get(one.attempt)))
        for one in engine.events
        if one.at_s < over_s.get(one.attempt, inf) or (in_turns and one.what != "executor_lost")
    ]
    return Failures(found, attempts, events, engine)


def _last_commit_s(evidence: Evidence, end: Record) -> float:
    commits = (one for one in evidence.of(Op.BATCH_COMMIT) if one.is_ok and one.seq < end.seq)
    return max((one.wall for one in commits), default=inf)


def _cause_of(event: Event, found: list[Window], ended_by: Window | None) -> Window | None:
    """Return the fault that an event belongs to: by its time, or that ended the attempt."""
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
    effect: dict[str, Any] = {name: counts[name] for name in (*RESTARTED, *RETRIED, *FELT)}
    effect |= slower(evidence, window)
    no_record = _no_record(evidence, found.engine, window)
    return {
        "degree": str(_degree(effect)),
        **effect,
        **({"engine": no_record} if no_record else {}),
    }


def _degree(effect: Mapping[str, Any]) -> Degree:
    if any(effect[name] for name in RESTARTED):
        return Degree.RESTARTED
    if any(effect[name] for name in RETRIED):
        return Degree.RETRIED
    is_felt = any(value for name, value in effect.items() if name not in (*RESTARTED, *RETRIED))
    return Degree.FELT if is_felt else Degree.NONE


def _links(evidence: Evidence, strike: Record) -> int:
    """Count what link faults did to the job and its producer only: connections, or bytes."""
    rule = strike.proof.get("rule")
    pairs = rule.get("pairs", []) if isinstance(rule, dict) else []
    if not pairs or not all(str(who).startswith(_OF_THE_JOB) for who, _ in pairs):
        return 0
    heals = [one for one in evidence.of(Op.FAULT_HEAL) if one.actor == strike.actor]
    counts = [one.proof.get("counts") for one in (strike, *heals)]
    found = [one for one in counts if isinstance(one, dict)]
    return max((sum(value for value in one.values()) for one in found), default=0)


def _no_record(evidence: Evidence, engine: Engine, window: Window) -> str:
    """Return why an attempt that ran in the window left no record; empty if each left one."""
    ends = {one.attempt: one.seq for one in evidence.of(Op.ATTEMPT_END)}
    ran = {
        one.attempt
        for one in evidence.of(Op.ATTEMPT_START)
        if one.seq <= window.last and ends.get(one.attempt, window.last) >= window.first
    }
    return next((why for attempt, why in engine.unknown.items() if attempt in ran), "")


@dataclass(frozen=True)
class Event:
    """An event of the engine: its kind, attempt, time by the wall clock, and other fields."""

    what: str
    attempt: int
    at_s: float
    fields: dict[str, Any]


@dataclass(frozen=True)
class Engine:
    """The events of all attempts; for each attempt that left no record, the reason."""

    events: tuple[Event, ...]
    unknown: Mapping[int, str]


def read_engine(evidence: Evidence) -> Engine:
    """Return the engine's record; raise `EvidenceError` if it is not the one in the history."""
    found: list[Event] = []
    known: set[int] = set()
    reasons: dict[int | None, str] = {}
    for record in evidence.of(Op.ENGINE):
        if record.is_ok and record.attempt is not None:
            known.add(record.attempt)
            found += _events(evidence, record.attempt, record.proof)
        else:
            reasons[record.attempt] = str(record.proof.get("reason", NO_LOG))
    started = {one.attempt for one in evidence.of(Op.ATTEMPT_START) if one.attempt is not None}
    if files := {path.name for path in evidence.run.engine.glob("*")} - {
        f"{one}.jsonl" for one in known
    }:
        raise EvidenceError(f"engine/{min(files)} is not in the history")
    found.sort(key=lambda one: one.at_s)
    lacking = {one: reasons.get(one, NO_LOG) for one in sorted(started - known)}
    return Engine(tuple(found), lacking)


def _events(evidence: Evidence, attempt: int, proof: Mapping[str, Any]) -> list[Event]:
    path = evidence.run.engine / f"{attempt}.jsonl"
    name = f"engine/{path.name}"
    if file_digest(path) != proof["sha256"]:
        raise EvidenceError(f"{name} is not the file recorded in the history: it was changed")
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        one = parse_object(line, name)
        what = field(one, "event", str, name)
        if what not in EVENTS:
            raise EvidenceError(f"{name}: {unknown('event', what, EVENTS)}")
        found.append(Event(what, attempt, count(one, "at_ms", name) / 1000, one))
    if len(found) != proof["events"]:
        raise EvidenceError(
            f"{name} has {len(found):,} events, but the history recorded {proof['events']:,}"
        )
    return found


def slower(evidence: Evidence, window: Window) -> dict[str, float]:
    """Return the seconds of operations that were slower in a window, as `commit_s` or `poll_s`."""
    found = {}
    for name, make in _SPANS.items():
        usual, longest = 0.0, 0.0
        for begin, end in make(evidence):
            seconds = end.wall - begin.wall
            if end.seq <= window.first:
                usual = max(usual, seconds)
            elif begin.seq <= window.last:
                longest = max(longest, seconds)
        if usual and longest >= max(usual + LEAST_S, TIMES * usual):
            found[name] = round(longest, 3)
    return found


def _commits(evidence: Evidence) -> Spans:
    """Yield the times from one commit to the next, except where a turn ended between them."""
    turns = [one.seq for one in evidence.of(Op.ATTEMPT_END) if one.is_ok]
    for begin, end in pairwise(one for one in evidence.of(Op.BATCH_COMMIT) if one.is_ok):
        if not any(begin.seq < turn < end.seq for turn in turns):
            yield begin, end


def _polls(evidence: Evidence) -> Spans:
    return pairwise(evidence.of(Op.POLL))


def _acknowledgements(evidence: Evidence) -> Spans:
    """Yield the times from one acknowledgement to the next, while records were in flight."""
    since: Record | None = None
    for record in evidence.of(Op.INPUT_PROGRESS):
        is_waiting = since is not None and _done(since) < int(since.proof.get("offered", 0))
        if since and is_waiting:
            yield since, record
        if since is None or not is_waiting or _done(record) > _done(since):
            since = record if _done(record) else None


def _done(record: Record) -> int:
    return int(record.proof.get("acknowledged", 0))


_SPANS: dict[str, Callable[[Evidence], Spans]] = {
    "commit_s": _commits,
    "poll_s": _polls,
    "acknowledgement_s": _acknowledgements,
}


def passed_input(evidence: Evidence, strike: Record) -> int:
    """Count the partitions in which batches after a strike read past the input that it changed."""
    proof = strike.proof
    before, after = _reached(evidence, strike)
    if isinstance(had := proof.get("partitions_before"), int):
        return sum(at[1] >= had for at in after)
    bounds = _bounds(proof)
    return sum(
        before.get(at, 0) < bound <= end
        for at, end in after.items()
        if (bound := bounds.get(str(at[1]))) is not None
    )


def _bounds(proof: Any) -> dict[str, int]:
    """Return the offset after the changed input, by partition."""
    if "aborted" in proof and isinstance(spans := proof.get("offsets"), dict):
        return {at: int(last) + 1 for at, (_, last) in spans.items()}
    begins = proof.get("begins")
    return {at: int(one) for at, one in begins.items()} if isinstance(begins, dict) else {}


def _reached(
    evidence: Evidence, strike: Record
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Return the offsets of planned batches at the strike, and at the end."""
    before: dict[Partition, int] = {}
    after: dict[Partition, int] = {}
    for record in evidence.of(Op.BATCH_OFFSETS):
        if record.is_ok:
            ends = by_partition(record.proof["offsets"])
            after |= ends
            before |= ends if record.seq < strike.seq else {}
    return before, after
