"""Keeps the job running until the run is over: watches it and restarts it after failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from onceproof.errors import StackError
from onceproof.job.attempt import Attempt
from onceproof.machine.polling import comes_true, wait_for
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome
from onceproof.runs.restart import Strategy

ACTOR = "supervisor"
_LOOK_EVERY_S = 0.02
_RIVAL_COMES_WITHIN_S = 30.0
_OVER, _DIED = "over", "its process ended"


@dataclass
class Watch:
    """The callbacks of the supervisor; each is called often and must be fast.

    `catch_up` brings the archive up to date. `is_over` returns whether the run is at its end,
    `progress` a value that changes when the job makes progress, `is_idle` whether the job has
    nothing to do, and `trouble` any other reason to end the run, empty without one.
    """

    catch_up: Callable[[], None]
    is_over: Callable[[], bool]
    progress: Callable[[], object]
    is_idle: Callable[[], bool]
    trouble: Callable[[], str]


@dataclass
class Supervisor:
    """The supervisor of one job. `current` is the living attempt, for faults to strike.

    No attempt starts while `starts_held` is held. A fault may start a `rival` beside the current
    attempt; it becomes the next attempt when the current one has ended.
    """

    start: Callable[[int], Attempt]
    before_restart: Callable[[], dict[str, object]]
    strategy: Strategy
    watch: Watch
    history: History
    stall_s: float
    current: Attempt | None = field(init=False, default=None)
    rival: Attempt | None = field(init=False, default=None)
    gave_up: bool = field(init=False, default=False)
    starts_held: threading.Lock = field(init=False, default_factory=threading.Lock)
    starts: int = field(init=False, default=0)
    _wants_rival: threading.Event = field(init=False, default_factory=threading.Event)

    def supervise(self) -> str:
        """Run attempts until the run is over, and return an empty text; else why it ended early."""
        self.current = self._begin(dict)
        try:
            while True:
                why = self._watch(self.current)
                trouble = self.watch.trouble()
                if why == _OVER or trouble:
                    self._finish_all(why)
                    return trouble if why != _OVER else ""
                failed = self.current
                if self._replace_by_rival(why):
                    continue
                pause_s = self._next_delay_s(failed, why)
                if pause_s is None:
                    return (
                        f"attempt {failed.number} failed ({why}), and the restart strategy gave up"
                    )
                comes_true(lambda: bool(self.watch.trouble()), pause_s, every_s=_LOOK_EVERY_S)
                self.current = self._begin(self.before_restart)
        finally:
            self._finish_all("its supervisor ended")

    def _next_delay_s(self, failed: Attempt, why: str) -> float | None:
        """Ask the strategy for the delay before the next start, and record its decision."""
        pause_s = self.strategy.delay_s(time.monotonic())
        self.gave_up = pause_s is None
        proof = {
            "decided": "give up" if pause_s is None else "start",
            "pause_s": None if pause_s is None else round(pause_s, 3),
            "reason": why,
            "said": failed.last_error,
        }
        self.history.append(ACTOR, Op.RESTART, attempt=failed.number, proof=proof)
        return pause_s

    def start_rival(self) -> Attempt:
        """Start a second attempt beside the living one, as no deployment should.

        The supervisor's own thread starts it, since a driver dies with the thread that started it.
        """
        if self.rival is not None:
            raise StackError(f"attempt {self.rival.number} already runs beside another")
        self._wants_rival.set()
        try:
            return wait_for(
                lambda: self.rival, _RIVAL_COMES_WITHIN_S, "no second driver is started"
            )
        finally:
            self._wants_rival.clear()

    def _begin(self, find: Callable[[], dict[str, object]]) -> Attempt:
        """Start the next attempt; the result of `find`, called just before, goes to its record."""
        self.starts += 1
        with self.starts_held:
            found = find()
            attempt = self.start(self.starts)
        proof = {"pid": attempt.leader.pid, "started": attempt.leader.started, **found}
        self.history.append(ACTOR, Op.ATTEMPT_START, attempt=attempt.number, proof=proof)
        return attempt

    def _watch(self, attempt: Attempt) -> str:
        """Wait until the attempt must end, and return why: the run is over, or a failure."""
        seen, since = self.watch.progress(), time.monotonic()

        def look() -> str:
            nonlocal seen, since
            self.watch.catch_up()
            if (now := self.watch.progress()) != seen or self.watch.is_idle():
                seen, since = now, time.monotonic()
            if self.watch.is_over():
                return _OVER
            if trouble := self.watch.trouble():
                return trouble
            if not attempt.is_alive:
                return _DIED
            self._update_rival(attempt)
            is_stalled = time.monotonic() - since > self.stall_s
            return f"no progress in {self.stall_s:g} s" if is_stalled else ""

        return wait_for(look, float("inf"), "", every_s=_LOOK_EVERY_S)

    def _replace_by_rival(self, why: str) -> bool:
        """End the failed attempt; return whether its rival is now the current attempt."""
        failed, self.current, self.rival = self.current, self.rival, None
        self._finish(failed, why)
        return self.current is not None

    def _update_rival(self, attempt: Attempt) -> None:
        """Start a requested rival; end the remaining processes of a rival that ended."""
        if self.rival is None:
            if self._wants_rival.is_set():
                beside: dict[str, object] = {"beside": attempt.number}
                self.rival = self._begin(lambda: beside)
        elif not self.rival.is_alive:
            failed, self.rival = self.rival, None
            self._finish(failed, _DIED)

    def _finish_all(self, why: str) -> None:
        last, beside = self.current, self.rival
        self.current = self.rival = None
        try:
            self._finish(beside, why)
        finally:
            self._finish(last, why)

    def _finish(self, attempt: Attempt | None, why: str) -> None:
        """End every process of an attempt, then archive its last commits."""
        if attempt is None:
            return
        outcome = Outcome.OK if why == _OVER else Outcome.FAILED
        proof = {"reason": why, "pid": attempt.leader.pid}
        try:
            attempt.end()
        except StackError as error:
            outcome, proof = Outcome.UNKNOWN, {"reason": str(error)}
            raise
        finally:
            self.watch.catch_up()
            number = attempt.number
            self.history.append(ACTOR, Op.ATTEMPT_END, outcome, attempt=number, proof=proof)
