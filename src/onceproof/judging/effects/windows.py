"""The fault that a failure belongs to: the window of each strike, and the attempts that it ended.

Records of the history are ordered by `seq`. The engine's events have only a wall-clock time, in
milliseconds of the same machine, which is compared with the wall clock of records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from onceproof.faults import Ends
from onceproof.faults.registry import ends_of
from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import FaultPart
from onceproof.runs.records import Op, Record

SLACK_S = 0.25  # an event may be written a moment before or after the record of what caused it
_FOREVER = 1 << 62


@dataclass(frozen=True)
class Window:
    """The time in which a fault explains failures.

    It begins when the fault begins to strike and ends with the first commit of a batch that was
    planned after strike and heal: from then on the job works as before.
    """

    fault: FaultPart
    strike: Record
    first: int
    last: int
    begins_s: float
    ends_s: float

    def has(self, seq: int) -> bool:
        """Whether a record of the history is in the window."""
        return self.first < seq <= self.last

    def has_time(self, at_s: float) -> bool:
        """Whether an event of the engine is in the window."""
        return self.begins_s - SLACK_S <= at_s <= self.ends_s + SLACK_S

    def killed(self, attempt: Record | None) -> bool:
        """Whether the fault's proof names the driver of this attempt as killed."""
        if attempt is None:
            return False
        driver = {name: attempt.proof.get(name) for name in ("pid", "started")}
        dead = self.strike.proof.get("dead")
        return isinstance(dead, list) and driver in dead


def windows(evidence: Evidence) -> list[Window]:
    """Return the windows of all strikes, by their beginning.

    A strike that missed its moment has a window too: it killed a process, and another followed.
    """
    faults = {fault.name: fault for fault in evidence.plan.faults}
    strikes = [one for one in evidence.of(Op.FAULT_STRIKE) if one.actor in faults]
    found = [_window(evidence, faults[one.actor], one) for one in strikes]
    return sorted(found, key=lambda one: one.first)


def newest(found: Iterable[Window]) -> Window | None:
    """Return the window that began last: a failure belongs to one fault only."""
    return max(found, key=lambda one: one.first, default=None)


def cause_of_end(end: Record, start: Record | None, found: list[Window]) -> Window | None:
    """Return the fault that ended an attempt, or None.

    A fault that killed drivers explains those it names and no later one: a job must recover from a
    crash. Damage may also keep later attempts from their first commit.
    """
    named = [one for one in found if one.killed(start)]
    if named:
        return named[0]
    return newest(one for one in found if _may_end(one, end, start))


def _may_end(window: Window, end: Record, start: Record | None) -> bool:
    ends = ends_of(window.fault.verb, window.fault.target)
    if ends is Ends.EITHER:  # either of two drivers may notice the other much later
        return start is not None and start.seq < window.strike.seq and end.seq > window.first
    return ends not in (Ends.DRIVER, Ends.REPLACED) and window.has(end.seq)


def _window(evidence: Evidence, fault: FaultPart, strike: Record) -> Window:
    first, begins_s = _beginning(strike)
    heals = [
        one.seq
        for one in evidence.of(Op.FAULT_HEAL)
        if one.actor == strike.actor and one.seq > strike.seq
    ]
    after = max([strike.seq, *heals])
    end = _first_commit(evidence, after)
    last, ends_s = (_FOREVER, float("inf")) if end is None else (end.seq, end.wall)
    return Window(fault, strike, first, last, begins_s, ends_s)


def _beginning(strike: Record) -> tuple[int, float]:
    """Return the record and the time at which the fault began to strike, by its proof."""
    began = strike.proof.get("began")
    if not isinstance(began, dict):
        return strike.seq - 1, strike.wall
    first, wall = began.get("since"), began.get("wall")
    if not isinstance(first, int) or not isinstance(wall, int | float):
        return strike.seq - 1, strike.wall
    return min(first, strike.seq - 1), min(float(wall), strike.wall)


def _first_commit(evidence: Evidence, after: int) -> Record | None:
    """Return the first commit, after a record, of a batch that was planned after that record.

    A damaged checkpoint may fail an attempt that has just committed the damaged batch again.
    """
    planned: set[int | None] = set()
    for record in evidence.of(Op.BATCH_OFFSETS, Op.BATCH_COMMIT):
        if record.seq <= after or not record.is_ok:
            continue
        if record.op is Op.BATCH_OFFSETS:
            planned.add(record.batch)
        elif record.batch in planned:
            return record
    return None
