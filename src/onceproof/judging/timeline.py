"""The run over time, as numbers for the plot; nothing here affects the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from onceproof.judging.checkers.faults_landed import landed
from onceproof.judging.recovery import caught_up, recovered
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.records import Op, Record

MOST_POINTS = 150
T = TypeVar("T")
Series = list[tuple[float, int]]


def elapsed(history: Sequence[Record]) -> dict[int, float]:
    """Return the seconds from the first record to each, by `seq`; they never decrease.

    They are of the monotonic clock if it is of one boot of one machine, else of the wall clock,
    where the time of a clock that was set back counts as zero.
    """
    monos = [record.mono for record in history]
    steady = all(one <= other for one, other in pairwise(monos))
    clock = monos if steady else list(accumulate((record.wall for record in history), max))
    return {r.seq: round(at - clock[0], 3) for r, at in zip(history, clock, strict=True)}


def timeline(evidence: Evidence) -> dict[str, Any]:
    """Return the series and bars of the plot, in seconds since the run's first record.

    A series whose evidence is missing is empty: the checkers report it.
    """
    at = or_none(lambda: elapsed(evidence.history)) or {}
    return {
        "seconds": max(at.values(), default=0.0),
        "offered": or_none(lambda: _offered(evidence, at)) or [],
        "committed": or_none(lambda: _committed(evidence, at)) or [],
        "seen": or_none(lambda: _seen(evidence, at)) or [],
        "faults": or_none(lambda: _faults(evidence, at)) or [],
    }


def _offered(evidence: Evidence, at: Mapping[int, float]) -> Series:
    sent = [record for record in evidence.of(Op.INPUT_PROGRESS) if record.is_ok]
    return [(at[record.seq], int(record.proof["offered"])) for record in _thinned(sent)]


def _committed(evidence: Evidence, at: Mapping[int, float]) -> Series:
    ledger = evidence.ledger
    return [(at[seq], ledger.covered_by(found)) for seq, found in _thinned(evidence.positions)]


def _seen(evidence: Evidence, at: Mapping[int, float]) -> Series:
    changes = dict(evidence.reads.ask("select poll, sum(copies) from reads group by poll"))
    totals = accumulate(int(changes.get(poll.number, 0)) for poll in evidence.polls)
    every = [(at[poll.seq], total) for poll, total in zip(evidence.polls, totals, strict=True)]
    return _thinned(every)


def _faults(evidence: Evidence, at: Mapping[int, float]) -> list[dict[str, Any]]:
    bars = []
    for name, strike in landed(evidence).items():
        heal = healed(evidence, strike)
        back = recovered(evidence, strike)
        level = caught_up(evidence, strike)
        bars.append(
            {
                "name": name,
                "struck": at[strike.seq],
                "healed": at[heal.seq] if heal else None,
                "recovered": at[back] if back else None,
                "caught_up": at[level] if level else None,
            }
        )
    return bars


def healed(evidence: Evidence, strike: Record) -> Record | None:
    """Return the heal of a strike, if there is one."""
    heals = (
        record
        for record in evidence.of(Op.FAULT_HEAL)
        if record.is_ok and record.actor == strike.actor and record.seq > strike.seq
    )
    return next(heals, None)


def _thinned(series: Sequence[T]) -> list[T]:
    """Return at most `MOST_POINTS` of a series, with the first and the last."""
    step = max(1, -(-len(series) // MOST_POINTS))
    return [*series[:-1:step], *series[-1:]]
