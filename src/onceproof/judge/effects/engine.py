"""The extract of the engine's record, read for the judge: events in order of their time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import count, field, parse_object
from onceproof.errors import EvidenceError
from onceproof.run.engine_log import NO_LOG
from onceproof.run.evidence import Evidence
from onceproof.run.records import Op

EVENTS = ("task_failed", "executor_lost", "stage_again", "batch_again")


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
