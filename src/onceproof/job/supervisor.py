"""Keeps the job running until the run is over: watches it and restarts it after failures.

A job that lives in turns ends by itself with exit code 0, and is started again as by a scheduler.
"""

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
_DRIVER_FOLLOWS_WITHIN_S = 10.0
_BETWEEN_TURNS_S = 0.5
_OVER, _DIED, _TURN = "over", "its process ended", "its turn ended"
_HINT = "; it ended with exit code 0: if it is meant to end by itself, write lives: in_turns"


@dataclass
class Watch:
    """The callbacks of the supervisor; each is called often and must be fast.

    `catch_up` brings the archive up to date. `is_over` returns whether the run is at its end,
    `progress` a value that changes when the job makes progress, `is_idle` whether the job has
    nothing to do, `has_all_input` whether all input was sent, and `trouble` any other reason to end
    the run, empty without one.
    """

    catch_up: Callable[[], None]
    is_over: Callable[[], bool]
    progress: Callable[[], object]
    is_idle: Callable[[], bool]
    has_all_input: Callable[[], bool]
    trouble: Callable[[], str]


@dataclass
class Supervisor:
    """The supervisor of one job. `current` is the living attempt, for faults to strike.

    No attempt starts while `starts_held` is held. A fault may start a `rival` beside the current
    attempt; it becomes the next attempt when the current one has ended.

    `in_turns`: an attempt that ends with exit code 0 has not failed. The run is over when one that
    began after all input was sent has ended so, and everything is committed.
    """

    start: Callable[[int], Attempt]
    before_restart: Callable[[], dict[str, object]]
    strategy: Strategy
    watch: Watch
    history: History
    stall_s: float
    in_turns: bool = False
    current: Attempt | None = field(init=False, default=None)
    rival: Attempt | None = field(init=False, default=None)
    gave_up: bool = field(init=False, default=False)
    starts_held: threading.Lock = field(init=False, default_factory=threading.Lock)
    starts: int = field(init=False, default=0)
    _wants_rival: threading.Event = field(init=False, default_factory=threading.Event)
    _had_all_input: set[int] = field(init=False, default_factory=set)
    _seen: object = field(init=False, default=None)
    _moved: float = field(init=False, default=0.0)

    def supervise(self) -> str:
        """Run attempts until the run is over, and return an empty text; else why it ended early."""
        self.current = self._begin(dict)
        try:
            while True:
                why = self._watch(self.current)
                trouble = self.watch.trouble()
                if why == _OVER or trouble:
                    self._finish_all(why if why == _OVER else trouble)
                    return trouble if why != _OVER else ""
                ended = self.current
                if self._replace_by_rival(why):
                    continue
                is_turn = why == _TURN
                end = self._after_turn(ended) if is_turn else self._after_failure(ended, why)
                if end is not None:
                    return end
                self.current = self._begin(self.before_restart)
        finally:
            self._finish_all("its supervisor ended")

    def _after_turn(self, ended: Attempt) -> str | None:
        """Return None to start the next turn, else why the run ended; empty if it is over."""
        if ended.number in self._had_all_input and self.watch.is_over():
            return ""
        if not self._has_moved() and time.monotonic() - self._moved > self.stall_s:
            return (
                f"attempt {ended.number} ended its turn with exit code 0, but in {self.stall_s:g} s"
                " no turn has planned or committed a batch, although there is work left"
            )
        self._pause(_BETWEEN_TURNS_S)
        return None

    def _after_failure(self, failed: Attempt, why: str) -> str | None:
        """Wait as the strategy decides, and return None; else that it gave up."""
        pause_s = self._next_delay_s(failed, why)
        if pause_s is None:
            hint = _HINT if why == _DIED and failed.exit_code == 0 else ""
            return f"attempt {failed.number} failed ({why}), and the restart strategy gave up{hint}"
        self._pause(pause_s)
        return None

    def _pause(self, seconds: float) -> None:
        comes_true(lambda: bool(self.watch.trouble()), seconds, every_s=_LOOK_EVERY_S)

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
            if self.watch.has_all_input():
                self._had_all_input.add(self.starts)
            attempt = self.start(self.starts)
        proof = {"pid": attempt.leader.pid, "started": attempt.leader.started, **found}
        self.history.append(ACTOR, Op.ATTEMPT_START, attempt=attempt.number, proof=proof)
        return attempt

    def _watch(self, attempt: Attempt) -> str:
        """Wait until the attempt must end or has ended, and return why."""
        began = time.monotonic()

        def look() -> str:
            self.watch.catch_up()
            since = time.monotonic() if self._has_moved() else max(began, self._moved)
            if not self.in_turns and self.watch.is_over():
                return _OVER
            if trouble := self.watch.trouble():
                return trouble
            if not attempt.is_alive:
                return self._how_it_ended(attempt)
            self._update_rival(attempt)
            return self._stalled() if time.monotonic() - since > self.stall_s else ""

        return wait_for(look, float("inf"), "", every_s=_LOOK_EVERY_S)

    def _has_moved(self) -> bool:
        """Return whether the job made progress since the last call, or had nothing to do.

        In turns a job that has nothing to do ends, so that is no excuse when all input was sent.
        """
        before, self._seen = self._seen, self.watch.progress()
        may_wait = self.watch.is_idle() and not (self.in_turns and self.watch.has_all_input())
        if self._seen == before and not may_wait:
            return False
        self._moved = time.monotonic()
        return True

    def _stalled(self) -> str:
        if self.in_turns and self.watch.is_over():
            return f"it did not end by itself in {self.stall_s:g} s after its last commit"
        return f"no progress in {self.stall_s:g} s"

    def _how_it_ended(self, attempt: Attempt) -> str:
        if not self.in_turns or attempt.exit_code != 0:
            return _DIED
        has_followed = comes_true(lambda: not attempt.driver(), _DRIVER_FOLLOWS_WITHIN_S)
        return _TURN if has_followed else "its command ended with exit code 0, but not its driver"

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
            ended, self.rival = self.rival, None
            self._finish(ended, self._how_it_ended(ended))

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
        outcome = Outcome.OK if why in (_OVER, _TURN) else Outcome.FAILED
        code = attempt.exit_code  # None if it lives until now
        own = {} if code is None else {"exit_code": code}
        proof: dict[str, object] = {"reason": why, "pid": attempt.leader.pid, **own}
        try:
            attempt.end()
        except StackError as error:
            outcome, proof = Outcome.UNKNOWN, {"reason": str(error)}
            raise
        finally:
            self.watch.catch_up()
            number = attempt.number
            self.history.append(ACTOR, Op.ATTEMPT_END, outcome, attempt=number, proof=proof)
