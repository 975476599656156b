"""The effect of each strike: the failures that belong to it, counted, and the degree they make.

The extract of the engine's record is read in order of time. A commit, a poll or an acknowledgement
counts as slower after a strike only where it took at least `LEAST_S` longer than the longest before
the strike and at least `TIMES` as long. A job of which nothing is known before the strike was not
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
from onceproof.errors import EvidenceError
from onceproof.judging.effects import Degree
from onceproof.judging.effects.windows import Window, cause_of_end, newest, windows
from onceproof.runs.engine_log import NO_LOG
from onceproof.runs.evidence import Evidence, by_partition
from onceproof.runs.ledger import Partition
from onceproof.runs.records import Op, Outcome, Record

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
EVENTS = ("task_failed", "executor_lost", "stage_again", "batch_again")
LEAST_S = 2.0
TIMES = 3
Spans = Iterable[tuple[Record, Record]]


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


@dataclass(frozen=True)
class Event:
    """One event of the engine: what, in which attempt, and when by the wall clock."""

    what: str
    attempt: int
    at_s: float
    told: dict[str, Any]


@dataclass(frozen=True)
class Engine:
    """The events of all attempts; for each attempt that left no record, the reason."""

    events: tuple[Event, ...]
    unknown: Mapping[int, str]


def read_engine(evidence: Evidence) -> Engine:
    """Return the engine's record, or raise `EvidenceError` if it is not what the history names."""
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
        raise EvidenceError(f"engine/{min(files)} is in no record of the history")
    found.sort(key=lambda one: one.at_s)
    unknown = {one: reasons.get(one, NO_LOG) for one in sorted(started - known)}
    return Engine(tuple(found), unknown)


def _events(evidence: Evidence, attempt: int, proof: Mapping[str, Any]) -> list[Event]:
    path = evidence.run.engine / f"{attempt}.jsonl"
    name = f"engine/{path.name}"
    if file_digest(path) != proof["sha256"]:
        raise EvidenceError(f"{name} is not the file that the history names: it was changed")
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        one = parse_object(line, name)
        what = field(one, "event", str, name)
        if what not in EVENTS:
            raise EvidenceError(f"{name} has the unknown event {what!r}")
        found.append(Event(what, attempt, count(one, "at_ms", name) / 1000, one))
    if len(found) != proof["events"]:
        raise EvidenceError(
            f"{name} holds {len(found):,} events, and the history says {proof['events']:,}"
        )
    return found


def slower(evidence: Evidence, window: Window) -> dict[str, float]:
    """Return the seconds of what was slower in a window, by name: `commit_s` and the like."""
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
    """Yield each two commits that follow each other."""
    return pairwise(one for one in evidence.of(Op.BATCH_COMMIT) if one.is_ok)


def _polls(evidence: Evidence) -> Spans:
    """Yield the ends of each two looks of the reader that follow each other."""
    return pairwise(evidence.of(Op.POLL))


def _acknowledgements(evidence: Evidence) -> Spans:
    """Yield the times from one acknowledgement to the next, while records were under way."""
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
    """Count the partitions in which batches after a strike went past what it changed."""
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
    """Return by partition the offset behind what was changed."""
    if "aborted" in proof and isinstance(spans := proof.get("offsets"), dict):
        return {at: int(last) + 1 for at, (_, last) in spans.items()}
    begins = proof.get("begins")
    return {at: int(one) for at, one in begins.items()} if isinstance(begins, dict) else {}


def _reached(
    evidence: Evidence, strike: Record
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Return how far batches were planned when a fault struck, and at the end."""
    before: dict[Partition, int] = {}
    after: dict[Partition, int] = {}
    for record in evidence.of(Op.BATCH_OFFSETS):
        if record.is_ok:
            ends = by_partition(record.proof["offsets"])
            after |= ends
            before |= ends if record.seq < strike.seq else {}
    return before, after
