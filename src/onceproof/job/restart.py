"""When a job that failed is started again: Flink's strategies, with Flink's arithmetic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from onceproof.errors import RequestError


class Strategy(Protocol):
    """Decides after each failure; it is told of every one, in order."""

    def delay_s(self, now: float) -> float | None:
        """Return how long to wait before the next start, or None to give up."""


@dataclass
class NoRestart:
    """The first failure ends the job."""

    def delay_s(self, now: float) -> float | None:  # noqa: ARG002  the contract
        """Give up."""
        return None


@dataclass
class FixedDelay:
    """So many starts after the first, with the same pause; a long healthy life gives none back."""

    attempts: int
    pause_s: float
    _failures: int = 0

    def delay_s(self, now: float) -> float | None:  # noqa: ARG002  the contract
        """Go on while there were no more failures than attempts."""
        self._failures += 1
        return self.pause_s if self._failures <= self.attempts else None


@dataclass
class FailureRate:
    """Gives up at the first failure that makes more than `max_failures` within the interval."""

    max_failures: int
    interval_s: float
    pause_s: float
    _times: deque[float] = field(default_factory=deque)

    def delay_s(self, now: float) -> float | None:
        """Keep the newest failures, one more than are allowed, and look how old the oldest is."""
        self._times.append(now)
        if len(self._times) <= self.max_failures:
            return self.pause_s
        oldest = self._times.popleft()
        return self.pause_s if now - oldest > self.interval_s else None


@dataclass
class ExponentialDelay:
    """Waits longer after each failure, and never gives up; a long healthy life begins anew."""

    initial_s: float
    max_s: float
    factor: float
    jitter: float
    reset_after_s: float
    rng: Random
    _pause_s: float | None = None
    _last: float = 0.0

    def delay_s(self, now: float) -> float | None:
        """Return the next pause, a share of `jitter` longer or shorter."""
        if self._pause_s is None or now - self._last >= self.reset_after_s + self._pause_s:
            self._pause_s = self.initial_s
        else:
            self._pause_s = min(self.max_s, self._pause_s * self.factor)
        self._last = now
        return self._pause_s * (1 + self.rng.uniform(-self.jitter, self.jitter))


def _exponential(given: Mapping[str, Any], rng: Random) -> Strategy:
    initial_s, max_s, factor, jitter, reset_after_s = (
        float(given[name]) for name in STRATEGIES["exponential-delay"]
    )
    return ExponentialDelay(initial_s, max_s, factor, jitter, reset_after_s, rng)


# The settings that each strategy needs, in the order in which it is made of them.
STRATEGIES: dict[str, tuple[str, ...]] = {
    "none": (),
    "fixed-delay": ("attempts", "delay_s"),
    "failure-rate": ("max_failures", "interval_s", "delay_s"),
    "exponential-delay": ("initial_s", "max_s", "factor", "jitter", "reset_after_s"),
}
_MAKERS: dict[str, Callable[[Mapping[str, Any], Random], Strategy]] = {
    "none": lambda _, __: NoRestart(),
    "fixed-delay": lambda given, _: FixedDelay(given["attempts"], given["delay_s"]),
    "failure-rate": lambda given, _: FailureRate(
        given["max_failures"], given["interval_s"], given["delay_s"]
    ),
    "exponential-delay": _exponential,
}


def strategy_of(restart: Mapping[str, Any], rng: Random) -> Strategy:
    """Return the strategy that a plan's `restart` names; `rng` draws the jitter."""
    name = restart.get("strategy", "fixed-delay")
    if name not in _MAKERS:
        raise RequestError(f"restart strategy {name!r} is none: write {', '.join(_MAKERS)}")
    if missing := [one for one in STRATEGIES[name] if one not in restart]:
        raise RequestError(f"restart strategy {name} needs {', '.join(missing)}")
    return _MAKERS[name](restart, rng)
