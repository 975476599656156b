"""Which attempt, step and fault a difference falls to, as far as the history tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.checkers.faults_landed import landed
from onceproof.evidence import Evidence, known
from onceproof.guarantee import Anomaly
from onceproof.records import Op, Record

MOST_SAMPLED = 20
_PLACE = ("topic", "partition", "offset", "batch", "attempt")


def blame(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the place, step and fault of each sampled difference, at most `MOST_SAMPLED`.

    A fault is blamed where it struck between the first record of the row's batch and its commit.
    What nobody recorded is None, never a guess.
    """
    return [_blamed(evidence, sample) for sample in evidence.differences.samples[:MOST_SAMPLED]]


def _blamed(evidence: Evidence, sample: Mapping[str, Any]) -> dict[str, Any]:
    place = {name: sample.get(name) for name in _PLACE}
    strike = _struck_within(evidence, place["batch"])
    step = _step(strike)
    return {
        "class": str(sample.get("class")),
        **place,
        "step": step,
        "fault": strike.actor if strike else None,
        "sentence": _sentence(evidence, sample, strike) if place["batch"] is not None else "",
    }


def _struck_within(evidence: Evidence, batch: Any) -> Record | None:
    mine = [r.seq for r in evidence.history if batch is not None and r.batch == batch]
    commits = [r.seq for r in evidence.of(Op.BATCH_COMMIT) if r.batch == batch]
    if not mine:
        return None
    end = commits[-1] if commits else len(evidence.history)
    strikes = landed(evidence).values()
    return next((strike for strike in strikes if mine[0] <= strike.seq <= end), None)


def _step(strike: Record | None) -> str | None:
    found = strike.proof.get("failpoint") if strike else None
    return None if found is None else str(found)


def _sentence(evidence: Evidence, sample: Mapping[str, Any], strike: Record | None) -> str:
    batch, step = sample["batch"], _step(strike)
    when = f"{strike.actor}{f' at {step}' if step else ''}" if strike else ""
    attempts = known(lambda: _attempts(evidence, batch)) or []
    if sample.get("class") == Anomaly.DUPLICATED and len(attempts) > 1:
        first, *later = attempts
        rest = " and ".join(f"by attempt {attempt}" for attempt in later)
        times = "twice" if len(attempts) == 2 else f"{len(attempts)} times"
        before, after = (f" before {when}", " after it") if when else ("", "")
        return f"Batch {batch} was applied {times}: by attempt {first}{before}, {rest}{after}"
    at = f" at {step}" if step else ""
    return f"Batch {batch} was under way when {strike.actor} struck{at}" if strike else ""


def _attempts(evidence: Evidence, batch: Any) -> list[int]:
    rows = evidence.reads.ask(
        "select distinct batch, attempt from reads where copies > 0 and attempt is not null"
        " order by all"
    )
    return [attempt for of, attempt in rows if of == batch]
