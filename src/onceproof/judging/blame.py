"""The attempt, step and fault that caused a difference, as far as the history shows them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from onceproof.checkpoint.damage_kinds import KINDS
from onceproof.guarantee import Anomaly
from onceproof.judging.checkers.faults_landed import landed
from onceproof.judging.checkers.zombie import written_too_late
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.records import Op, Record

MOST_SAMPLED = 20
Late = list[tuple[int, int, int]]  # batch, attempt, and how many rows
UNREAD = "unread"
INFERRED = ("input", UNREAD)  # of rows without a batch number
_DAMAGE = "damage"
_PLACE = ("topic", "partition", "offset", "batch", "attempt")


def blame(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the place, step and fault of each sampled difference, at most `MOST_SAMPLED`.

    A fault is blamed if it struck between the first record of the row's batch and its commit.
    Unrecorded values are None, never a guess. Transactions left open come last, by name.
    """
    samples = evidence.differences.samples[:MOST_SAMPLED]
    is_twice = any(one.get("class") == Anomaly.DUPLICATED for one in samples)
    late = or_none(lambda: written_too_late(evidence)) if is_twice else None
    return [*(_blamed(evidence, one, late or []) for one in samples), *_open(evidence)]


def _open(evidence: Evidence) -> list[dict[str, Any]]:
    looks = [record for record in evidence.of(Op.SINK_OPEN) if record.is_ok]
    names = looks[-1].proof.get("names", []) if looks else []
    nothing = dict.fromkeys([*_PLACE, "step", "fault"])
    return [
        {
            "class": str(Anomaly.STUCK),
            **nothing,
            "inferred": False,
            "sentence": f"{name} is open and hides every later record of its partitions",
        }
        for name in names[:MOST_SAMPLED]
    ]


def _blamed(evidence: Evidence, sample: Mapping[str, Any], late: Late) -> dict[str, Any]:
    place = {name: sample.get(name) for name in _PLACE}
    strike = _struck_within(evidence, place["batch"])
    step = _step(strike)
    return {
        "class": str(sample.get("class")),
        **place,
        "step": step,
        "fault": strike.actor if strike else None,
        "inferred": sample.get("by") in INFERRED,
        "sentence": _sentence(evidence, sample, strike, late) if place["batch"] is not None else "",
    }


def _struck_within(evidence: Evidence, batch: Any) -> Record | None:
    mine = [r.seq for r in evidence.history if batch is not None and r.batch == batch]
    commits = [r.seq for r in evidence.of(Op.BATCH_COMMIT) if r.batch == batch]
    if not mine:
        return None
    end = commits[-1] if commits else len(evidence.history)
    strikes = landed(evidence).values()
    within = next((strike for strike in strikes if mine[0] <= strike.seq <= end), None)
    return within or _damage_before(filter(evidence.is_mine, strikes), mine[0])


def _damage_before(strikes: Iterable[Record], seq: int) -> Record | None:
    found = [one for one in strikes if _DAMAGE in one.proof and one.seq < seq]
    return max(found, key=lambda one: one.seq, default=None)


def _step(strike: Record | None) -> str | None:
    found = strike.proof.get("failpoint") if strike else None
    return None if found is None else str(found)


def _sentence(
    evidence: Evidence, sample: Mapping[str, Any], strike: Record | None, late: Late
) -> str:
    batch, step = sample["batch"], _step(strike)
    if sample.get("by") == UNREAD:
        return _unread(evidence, batch, strike)
    if strike and strike.proof.get(_DAMAGE):
        return _rests_on_damage(batch, strike)
    is_inferred = sample.get("by") in INFERRED
    when = f"{strike.actor}{f' at {step}' if step else ''}" if strike else ""
    if sample.get("class") == Anomaly.DUPLICATED and (zombies := _by_zombies(late, batch)):
        return f"{zombies}{f': {when}' if when else ''}"
    attempts = or_none(lambda: _attempts(evidence, sample)) or []
    more = " (inferred from the input: the rows have no batch number)" if is_inferred else ""
    if sample.get("class") == Anomaly.DUPLICATED and len(attempts) > 1:
        first, *later = attempts
        rest = " and ".join(f"by attempt {attempt}" for attempt in later)
        times = "twice" if len(attempts) == 2 else f"{len(attempts)} times"
        before, after = (f" before {when}", " after it") if when else ("", "")
        return f"Batch {batch} was applied {times}: by attempt {first}{before}, {rest}{after}{more}"
    if sample.get("class") == Anomaly.LOST and (why := _lost(evidence, batch)):
        return why
    at = f" at {step}" if step else ""
    return f"Batch {batch} was in progress when {strike.actor} struck{at}{more}" if strike else ""


def _by_zombies(late: Late, batch: int) -> str:
    parts = [f"attempt {attempt} wrote {rows:,}" for of, attempt, rows in late if of == batch]
    if not parts:
        return ""
    return (
        f"Of the rows of batch {batch}, {' and '.join(parts)} as a zombie: after the batch was"
        " committed or the attempt was replaced"
    )


def _lost(evidence: Evidence, batch: Any) -> str:
    """Return the reason that the sink recorded for lost rows of a batch; empty without one."""
    losses = [
        one for record in evidence.of(Op.SINK_RECOVER) for one in record.proof.get("lost", [])
    ]
    losses += [{"batch": r.batch, **r.proof} for r in evidence.of(Op.FENCED) if "why" in r.proof]
    return next((str(one["why"]) for one in losses if one["batch"] == batch), "")


def _rests_on_damage(batch: int, strike: Record) -> str:
    kind, after = strike.proof[_DAMAGE], strike.batch
    about = KINDS[kind].about if kind in KINDS else kind
    return (
        f"Batch {batch} ran on the checkpoint that {strike.actor} damaged after batch {after}:"
        f" {about}"
    )


def _unread(evidence: Evidence, batch: Any, strike: Record | None) -> str:
    reason = f"No batch has read it: batch {batch} is the first of a query that began after it"
    if not evidence.of(Op.CHECKPOINT_ANEW):
        return f"{reason}; for a job that starts at the latest offsets, write starting: latest"
    return f"{reason}, without the checkpoint{f', after {strike.actor}' if strike else ''}"


def _attempts(evidence: Evidence, sample: Mapping[str, Any]) -> list[int]:
    """Return the attempts that wrote a row: by its own columns, or by when its copies appeared."""
    if sample.get("by") not in INFERRED:
        rows = evidence.reads.ask(
            "select distinct batch, attempt from reads where copies > 0 and attempt is not null"
            " order by all"
        )
        return [attempt for of, attempt in rows if of == sample["batch"]]
    wanted = list(map(str, sample["key"].values()))
    rows = evidence.reads.ask(
        "select key, since from reads join polls on number = poll where copies > 0 order by since"
    )
    starts = [(record.seq, record.attempt) for record in evidence.of(Op.ATTEMPT_START)]
    seen = [since for key, since in rows if list(map(str, json.loads(key))) == wanted]
    of = ([attempt for seq, attempt in starts if seq <= since][-1:] for since in seen)
    return sorted({attempt for some in of for attempt in some if attempt is not None})
