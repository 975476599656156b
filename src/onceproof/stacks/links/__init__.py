"""The links between members, and their rules: which connections one means, and what it does.

`who` connects to which member is told by words: see `sources`. A rule that is taken back leaves
nothing but its counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Deed = Literal["cut", "delay", "rate", "blackhole"]
DEEDS: tuple[Deed, ...] = ("cut", "delay", "rate", "blackhole")
ANYONE = "anyone"
REQUESTS, ANSWERS = "requests", "answers"
WAYS = (REQUESTS, ANSWERS)


@dataclass(frozen=True)
class Rule:
    """One thing that is done to links; `pairs` are who connects, and to which member.

    `ways` are what those who connect send, and what they are answered. `ms` is of `delay`,
    `kbytes` a second of `rate`.
    """

    name: str
    do: Deed
    pairs: tuple[tuple[str, str], ...]
    ways: tuple[str, ...] = WAYS
    ms: int = 0
    kbytes: int = 0

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Rule:
        """Return the rule that `asdict` told of."""
        pairs = tuple((who, member) for who, member in told["pairs"])
        return cls(**{**told, "pairs": pairs, "ways": tuple(told["ways"])})

    @property
    def asks_who(self) -> bool:
        """Whether one must know who connects."""
        return any(who != ANYONE for who, _ in self.pairs)

    def means(self, sources: Collection[str], member: str) -> bool:
        """Whether it holds for a connection of these sources to a member."""
        return any(to == member and who in (ANYONE, *sources) for who, to in self.pairs)


@dataclass
class Counts:
    """What a rule has done; bytes that pass a link unharmed are not counted."""

    refused: int = 0
    reset: int = 0
    held_bytes: int = 0
    swallowed_bytes: int = 0
    reset_at_heal: int = 0

    @property
    def has_struck(self) -> bool:
        """Whether anybody has felt it."""
        return any((self.refused, self.reset, self.held_bytes, self.swallowed_bytes))


@dataclass
class Order:
    """A rule in force."""

    rule: Rule
    counts: Counts = field(default_factory=Counts)

    def to_json(self) -> dict[str, Any]:
        """Return both as the proxy's answers hold them."""
        return {"rule": asdict(self.rule), "counts": asdict(self.counts)}
