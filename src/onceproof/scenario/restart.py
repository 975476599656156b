"""Restart strategies, with the names and the numbers that Flink gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onceproof.schema.kinds import Field, Shape
from onceproof.schema.scalars import SECONDS, Word, number, whole
from onceproof.schema.values import BAD, Item

_DELAY = Field(SECONDS, "seconds before a start", 0.5)
STRATEGIES = {
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
DEFAULT = {"strategy": "fixed-delay", "attempts": 3, "delay_s": 0.5}


def shape(strategy: str) -> Shape:
    """Return the fields of a strategy."""
    named = Field(Word((strategy,)), "which strategy")
    return Shape({"strategy": named} | STRATEGIES[strategy])


@dataclass(frozen=True)
class Strategy:
    """The name of a strategy, or a mapping with its numbers."""

    def read(self, item: Item) -> Any:
        """Return the mapping, with all numbers."""
        if not item.is_mapping:
            name = Word(tuple(STRATEGIES)).read(item)
            return name if name is BAD else _defaults(name)
        named = (item.fields() or {}).get("strategy")
        if named is None:
            item.refuse(f"strategy is missing: write one of {', '.join(STRATEGIES)}")
            return BAD
        name = Word(tuple(STRATEGIES)).read(named)
        return name if name is BAD else shape(name).read(item)

    def schema(self) -> dict[str, Any]:
        """Return the names, and one object for each strategy."""
        shapes = [shape(name).schema() for name in STRATEGIES]
        return {"oneOf": [{"enum": list(STRATEGIES)}, *shapes]}


def _defaults(name: str) -> dict[str, Any]:
    return {"strategy": name} | {key: one.default for key, one in STRATEGIES[name].items()}
