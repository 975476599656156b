"""The recovery of a run from each fault, as numbers; nothing here affects the verdict.

A failed attempt, and the input that the next one reprocessed, belong to the newest fault before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from onceproof.judging.checkers.faults_landed import landed
from onceproof.runs.evidence import Evidence, by_partition, or_none
from onceproof.runs.ledger import Partition
from onceproof.runs.records import Op, Record

Ends = Mapping[Partition, int]
_OF_RESTART = ("reason", "said", "decided", "pause_s")


def recoveries(evidence: Evidence, at: Mapping[int, float]) -> dict[str, dict[str, Any]]:
    """Return the recovery from each fault that landed; unknown values are None.

    `at` has the seconds from the first record to each, by `seq`.
    """
    strikes = landed(evidence)
    return {name: _recovery(evidence, at, strikes, strike) for name, strike in strikes.items()}


def _recovery(
    evidence: Evidence, at: Mapping[int, float], strikes: Mapping[str, Record], strike: Record
) -> dict[str, Any]:
    def since(seq: int | None) -> float | None:
        return None if seq is None else round(at[seq] - at[strike.seq], 3)

    level = caught_up(evidence, strike)
    mine = _between(strike, strikes)
    return {
        "first_commit_s": since(recovered(evidence, strike)),
        "caught_up_s": since(level),
        "reprocessed": or_none(lambda: _reprocessed(evidence, mine)),
        "reader_gap_s": or_none(lambda: _gap(evidence, at, strike, level)),
        "restarts": [
            {"attempt": one.attempt, **{name: one.proof.get(name) for name in _OF_RESTART}}
            | {"at_s": since(one.seq)}
            for one in evidence.of(Op.RESTART)
            if one.seq in mine
        ],
    }


def recovered(evidence: Evidence, strike: Record) -> int | None:
    """Return the `seq` of the first commit after a strike: the pipeline works again."""
    return next((seq for seq, _ in evidence.positions if seq > strike.seq), None)


def caught_up(evidence: Evidence, strike: Record) -> int | None:
    """Return the `seq` of the first commit after a strike that left no backlog.

    Its batch read all input that was acknowledged when it was planned.
    """
    ledger = or_none(lambda: evidence.ledger)
    acknowledged, behind = 0, dict[int | None, bool]()
    for record in evidence.of(Op.INPUT_PROGRESS, Op.BATCH_OFFSETS, Op.BATCH_COMMIT):
        if not record.is_ok or ledger is None:
            continue
        if record.op is Op.INPUT_PROGRESS:
            acknowledged = int(record.proof["acknowledged"])
        elif record.op is Op.BATCH_OFFSETS:
            ends = by_partition(record.proof["offsets"])
            behind[record.batch] = ledger.covered_by(ends) < acknowledged
        elif record.seq > strike.seq and not behind.get(record.batch, True):
            return record.seq
    return None


def _between(strike: Record, strikes: Mapping[str, Record]) -> range:
    later = [one.seq for one in strikes.values() if one.seq > strike.seq]
    return range(strike.seq, min(later, default=1 << 62))


def _reprocessed(evidence: Evidence, mine: range) -> int:
    """Count the records of batches that were planned before an attempt began and committed in it.

    Repetitions by Spark within one attempt are not recorded and not counted.
    """
    ledger, found = evidence.ledger, 0
    starts = [one.seq for one in evidence.of(Op.ATTEMPT_START)][1:]
    for start, end in pairwise([*starts, 1 << 62]):
        planned: dict[int, Ends] = {}
        again: set[int] = set()
        for record in evidence.of(Op.BATCH_OFFSETS, Op.BATCH_COMMIT):
            if not record.is_ok or record.batch is None:
                continue
            if record.op is Op.BATCH_OFFSETS and record.seq < start:
                planned[record.batch] = by_partition(record.proof["offsets"])
            elif record.op is Op.BATCH_COMMIT and start < record.seq < end:
                again.add(record.batch)
        if start in mine:
            for batch in again & planned.keys():
                before = planned.get(batch - 1, {})
                found += ledger.covered_by(planned[batch]) - ledger.covered_by(before)
    return found


def _gap(
    evidence: Evidence, at: Mapping[int, float], strike: Record, until: int | None
) -> float | None:
    """Return the longest time without a visible change between a strike and `until`."""
    if until is None:
        return None
    news = [at[poll.seq] for poll in evidence.polls if poll.rows]
    end, struck = at[until], at[strike.seq]
    before = [moment for moment in news if moment <= struck]
    moments = [*before[-1:], *(moment for moment in news if struck < moment <= end)]
    moments += [moment for moment in news if moment > end][:1]
    gaps = [round(later - earlier, 3) for earlier, later in pairwise(moments)]
    return max(gaps, default=None)
