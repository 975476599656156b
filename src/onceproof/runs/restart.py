"""Restart strategies for a job that failed: those of Flink, with their numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from onceproof.errors import RequestError, missing
from onceproof.schema.kinds import SECONDS, Field, Shape, Word, number, read_given, whole
from onceproof.schema.values import BAD, Item


class Strategy(Protocol):
    """A strategy decides after each failure; it is called for every one, in order."""

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
    """A fixed number of restarts with the same pause; a long healthy run does not reset it."""

    attempts: int
    pause_s: float
    _failures: int = 0

    def delay_s(self, now: float) -> float | None:  # noqa: ARG002  the contract
        """Restart while there were no more failures than attempts."""
        self._failures += 1
        return self.pause_s if self._failures <= self.attempts else None


@dataclass
class FailureRate:
    """Restarts until more than `max_failures` failures happen within the interval."""

    max_failures: int
    interval_s: float
    pause_s: float
    _times: deque[float] = field(default_factory=deque)

    def delay_s(self, now: float) -> float | None:
        """Keep the newest failures, one more than are allowed, and check the age of the oldest."""
        self._times.append(now)
        if len(self._times) <= self.max_failures:
            return self.pause_s
        oldest = self._times.popleft()
        return self.pause_s if now - oldest > self.interval_s else None


@dataclass
class ExponentialDelay:
    """Pauses that grow after each failure, without end; a long healthy run resets them."""

    rng: Random
    initial_s: float
    max_s: float
    factor: float
    jitter: float
    reset_after_s: float
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


_DELAY = Field(SECONDS, "seconds before a start", 0.5)
# The numbers of each strategy, in the order of its arguments.
STRATEGIES: Mapping[str, Mapping[str, Field]] = {
    "none": {},
    "fixed-delay": {"attempts": Field(whole(1), "restarts at most", 3), "delay_s": _DELAY},
    "failure-rate": {
        "max_failures": Field(whole(1), "failures at most within an interval", 3),
        "interval_s": Field(SECONDS, "the interval's seconds", 60),
        "delay_s": _DELAY,
    },
    "exponential-delay": {
        "initial_s": Field(SECONDS, "seconds before the first restart", 0.5),
        "max_s": Field(SECONDS, "seconds at most", 30),
        "factor": Field(number(1), "how much longer each delay is than the one before", 2),
        "jitter": Field(
            number(0, 1), "share of a delay by which it may differ, from the seed", 0.1
        ),
        "reset_after_s": Field(SECONDS, "seconds without a failure until it begins anew", 120),
    },
}
_NAME = Word(tuple(STRATEGIES), "restart strategy")
DEFAULT = {"strategy": "fixed-delay", "attempts": 3, "delay_s": 0.5}


@dataclass(frozen=True)
class Restart:
    """The name of a strategy, or a mapping with its numbers."""

    def read(self, item: Item) -> Any:
        """Return the mapping, with all numbers."""
        if not item.is_mapping:
            name = _NAME.read(item)
            return BAD if name is BAD else read_given(name, _shape(name), {"strategy": name})
        named = (item.fields() or {}).get("strategy")
        if named is None:
            item.refuse(missing("strategy", f"one of {', '.join(STRATEGIES)}"))
            return BAD
        name = _NAME.read(named)
        return BAD if name is BAD else _shape(name).read(item)

    def schema(self) -> dict[str, Any]:
        """Return the names, and one object for each strategy."""
        shapes = [_shape(name).schema() for name in STRATEGIES]
        return {"oneOf": [_NAME.schema(), *shapes]}


def _shape(name: str) -> Shape:
    return Shape({"strategy": Field(Word((name,)), "which strategy"), **STRATEGIES[name]})


def strategy_of(restart: Mapping[str, Any], rng: Random) -> Strategy:
    """Return the strategy that a plan's `restart` names; `rng` draws the jitter."""
    name = read_given("the plan's restart", Restart(), restart)["strategy"]
    if absent := [one for one in STRATEGIES[name] if one not in restart]:
        raise RequestError(
            f"restart strategy {name!r} lacks {', '.join(absent)}; add them to the plan"
        )
    numbers = [restart[one] for one in STRATEGIES[name]]
    match name:
        case "fixed-delay":
            return FixedDelay(*numbers)
        case "failure-rate":
            return FailureRate(*numbers)
        case "exponential-delay":
            return ExponentialDelay(rng, *numbers)
    return NoRestart()
