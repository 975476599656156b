"""Keeps the job going until the run is over: watches it, counts its failures, starts it again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from onceproof.errors import StackError
from onceproof.history import History
from onceproof.polling import comes_true, wait_for
from onceproof.process.attempt import Attempt
from onceproof.process.restart import Strategy
from onceproof.records import Op, Outcome

ACTOR = "supervisor"
_LOOK_EVERY_S = 0.02


@dataclass
class Watch:
    """What the supervisor asks of the rest of the agent; each is called often and must be quick.

    `catch_up` brings the archive up to date, `is_over` says that the run is at its end,
    `progress` is anything that differs when the job got on, `is_idle` says that it has nothing to
    do, and `trouble` says what else must end the run, if anything.
    """

    catch_up: Callable[[], None]
    is_over: Callable[[], bool]
    progress: Callable[[], object]
    is_idle: Callable[[], bool]
    trouble: Callable[[], str]


@dataclass
class Supervisor:
    """One job's supervisor. `current` is the attempt that lives, for faults to strike."""

    start: Callable[[int], Attempt]
    before_restart: Callable[[int], dict[str, object]]
    strategy: Strategy
    watch: Watch
    history: History
    stall_s: float
    current: Attempt | None = None

    def supervise(self) -> str:
        """Run attempt after attempt; return why there is no next one, empty if the run is over."""
        number = 0
        found: dict[str, object] = {}
        while True:
            number += 1
            attempt = self._begin(number, found)
            try:
                why = self._watch(attempt)
            finally:
                self._finish(attempt)
            ok = why == "over"
            outcome = Outcome.OK if ok else Outcome.FAILED
            proof = {"reason": why, "pid": attempt.leader.pid}
            self.history.append(ACTOR, Op.ATTEMPT_END, outcome, attempt=number, proof=proof)
            if ok:
                return ""
            if said := self.watch.trouble():
                return said
            pause_s = self.strategy.delay_s(time.monotonic())
            if pause_s is None:
                return f"attempt {number} failed ({why}), and the restart strategy gave up"
            comes_true(lambda: bool(self.watch.trouble()), pause_s, every_s=_LOOK_EVERY_S)
            found = self.before_restart(number)

    def _begin(self, number: int, found: dict[str, object]) -> Attempt:
        attempt = self.start(number)
        proof = {"pid": attempt.leader.pid, "started": attempt.leader.started, **found}
        self.history.append(ACTOR, Op.ATTEMPT_START, attempt=number, proof=proof)
        self.current = attempt
        return attempt

    def _watch(self, attempt: Attempt) -> str:
        """Return why the attempt is to end: `over`, or what went wrong."""
        seen, since = self.watch.progress(), time.monotonic()

        def look() -> str:
            nonlocal seen, since
            self.watch.catch_up()
            if (now := self.watch.progress()) != seen or self.watch.is_idle():
                seen, since = now, time.monotonic()
            if self.watch.is_over():
                return "over"
            if said := self.watch.trouble():
                return said
            if not attempt.is_alive:
                return "its process ended"
            is_stalled = time.monotonic() - since > self.stall_s
            return f"no progress in {self.stall_s:g} s" if is_stalled else ""

        return wait_for(look, float("inf"), "", every_s=_LOOK_EVERY_S)

    def _finish(self, attempt: Attempt) -> None:
        """End every process of the attempt; the last of its commits is archived after that."""
        try:
            attempt.end()
        except StackError as error:
            proof = {"reason": str(error)}
            number = attempt.number
            self.history.append(ACTOR, Op.ATTEMPT_END, Outcome.UNKNOWN, attempt=number, proof=proof)
            raise
        finally:
            self.current = None
            self.watch.catch_up()
