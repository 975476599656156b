"""A record of a run's history, and its line of JSON; docs/reference/history.md explains it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from onceproof import documents
from onceproof.errors import EvidenceError, unknown

LONGEST_LINE_BYTES = 1 << 16
W = TypeVar("W", bound=StrEnum)


class Outcome(StrEnum):
    """The outcome of an operation; after UNKNOWN its effect must be read back."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Op(StrEnum):
    """The operations that are recorded."""

    PHASE_START = "phase.start"
    PHASE_END = "phase.end"
    INPUT_PROGRESS = "input.progress"
    INPUT_TOPICS = "input.topics"
    ATTEMPT_START = "attempt.start"
    ATTEMPT_END = "attempt.end"
    ATTEMPT_RAN_ON = "attempt.ran_on"
    RESTART = "restart"
    BATCH_OFFSETS = "batch.offsets"
    BATCH_COMMIT = "batch.commit"
    CHECKPOINT_ANEW = "checkpoint.anew"
    DECISION = "decision"
    FAULT_STRIKE = "fault.strike"
    FAULT_HEAL = "fault.heal"
    POLL = "poll"
    READ = "read"
    SINK_RECOVER = "sink.recover"
    SINK_OPEN = "sink.open"
    FENCED = "fenced"
    ENGINE = "engine"
    HISTORY_TORN = "history.torn"


@dataclass(frozen=True)
class Needs:
    """The required fields of a record; those of the proof only if the outcome is ok."""

    batch: bool = False
    attempt: bool = False
    proof: Mapping[str, type] = field(default_factory=dict)


NEEDS: dict[Op, Needs] = {
    Op.INPUT_PROGRESS: Needs(proof={"offered": int, "acknowledged": int}),
    Op.INPUT_TOPICS: Needs(proof={"topics": dict}),
    Op.ATTEMPT_START: Needs(attempt=True),
    Op.ATTEMPT_END: Needs(attempt=True),
    Op.ATTEMPT_RAN_ON: Needs(attempt=True, proof={"sha256": str}),
    Op.RESTART: Needs(attempt=True, proof={"decided": str}),
    Op.BATCH_OFFSETS: Needs(batch=True, proof={"offsets": dict}),
    Op.BATCH_COMMIT: Needs(batch=True),
    Op.DECISION: Needs(batch=True, attempt=True, proof={"decided": str}),
    Op.POLL: Needs(proof={"poll": int, "rows": int, "since": int}),
    Op.READ: Needs(proof={"rows": int, "digest": str}),
    Op.FENCED: Needs(batch=True, proof={"what": str}),
    Op.ENGINE: Needs(attempt=True, proof={"events": int, "sha256": str}),
    Op.SINK_OPEN: Needs(proof={"open": int, "hidden": int}),
}


@dataclass(frozen=True)
class Record:
    """An event: the operation, its actor and its outcome, with the proof.

    `about` names the query or output that it is of, in a run with several.
    """

    seq: int
    mono: float
    wall: float
    actor: str
    op: Op
    outcome: Outcome
    batch: int | None = None
    attempt: int | None = None
    proof: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether the operation succeeded."""
        return self.outcome is Outcome.OK


def to_line(record: Record) -> bytes:
    """Return a record's line, or raise `EvidenceError` if it could not be read back."""
    fields = {name: value for name, value in asdict(record).items() if value not in (None, {}, "")}
    try:
        line = json.dumps(fields, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise EvidenceError(
            f"{record.op} by {record.actor}: its proof is not JSON: {error}"
        ) from None
    if len(line) > LONGEST_LINE_BYTES:
        raise EvidenceError(
            f"{record.op} by {record.actor} has {len(line):,} bytes, more than the"
            f" {LONGEST_LINE_BYTES:,} of a record; write rows to parquet"
        )
    from_line(record.seq, line)
    return line


def from_line(number: int, line: bytes) -> Record:
    """Return the record of the history's line of this number, which must be its `seq` too."""
    where = f"line {number} of the history"
    try:
        found = documents.parse_object(line.decode(), where)
    except UnicodeDecodeError:
        raise EvidenceError(f"{where} is not text; the file was damaged") from None
    seq = documents.count(found, "seq", where)
    if seq != number:
        raise EvidenceError(
            f"{where} has seq {seq}; records are missing, duplicated or out of order"
        )
    if strange := found.keys() - Record.__dataclass_fields__.keys():
        raise EvidenceError(f"{where} has unknown fields: {', '.join(sorted(strange))}")
    record = Record(
        seq,
        _clock(found, "mono", where),
        _clock(found, "wall", where),
        documents.field(found, "actor", str, where),
        _word(Op, found, "op", where),
        _word(Outcome, found, "outcome", where),
        documents.count(found, "batch", where) if "batch" in found else None,
        documents.count(found, "attempt", where) if "attempt" in found else None,
        documents.field(found, "proof", dict, where) if "proof" in found else {},
        documents.field(found, "about", str, where) if "about" in found else "",
    )
    _check(record, where)
    return record


def _check(record: Record, where: str) -> None:
    needs = NEEDS.get(record.op, Needs())
    for name in ("batch", "attempt"):
        if getattr(needs, name) and getattr(record, name) is None:
            raise EvidenceError(f"{where}: {record.op} has no {name}")
    for name, kind in needs.proof.items() if record.is_ok else ():
        look = f"{where}: the proof of {record.op}"
        documents.field(record.proof, name, kind, look)
        if kind is int:
            documents.count(record.proof, name, look)


def _clock(found: Mapping[str, Any], name: str, where: str) -> float:
    value = found.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise EvidenceError(f"{where}: {name} is {value!r}, and must be a number of seconds")
    return float(value)


def _word(kind: type[W], found: Mapping[str, Any], name: str, where: str) -> W:
    try:
        return kind(str(found.get(name)))
    except ValueError:
        raise EvidenceError(f"{where}: {unknown(name, found.get(name), kind)}") from None
