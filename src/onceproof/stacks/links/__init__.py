"""Rules for the links between members: the affected connections, and the effect on them.

A connection is described by its source (see `sources`) and its member. A rule that is removed
leaves only its counts.
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
    """An effect on links; `pairs` are the sources of connections and the members connected to.

    `ways` are the affected directions: the source's requests, the member's answers. `ms` belongs to
    `delay`, `kbytes` (per second) to `rate`.
    """

    name: str
    do: Deed
    pairs: tuple[tuple[str, str], ...]
    ways: tuple[str, ...] = WAYS
    ms: int = 0
    kbytes: int = 0

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Rule:
        """Return the rule from the fields that `asdict` returned."""
        pairs = tuple((source, member) for source, member in fields["pairs"])
        return cls(**{**fields, "pairs": pairs, "ways": tuple(fields["ways"])})

    @property
    def needs_sources(self) -> bool:
        """Whether it depends on the sources of connections."""
        return any(source != ANYONE for source, _ in self.pairs)

    def applies_to(self, sources: Collection[str], member: str) -> bool:
        """Return whether it applies to a connection from these sources to a member."""
        return any(to == member and source in (ANYONE, *sources) for source, to in self.pairs)


@dataclass
class Counts:
    """Counts of a rule's effects; bytes that pass unchanged are not counted."""

    refused: int = 0
    reset: int = 0
    held_bytes: int = 0
    swallowed_bytes: int = 0
    reset_at_heal: int = 0

    @property
    def has_struck(self) -> bool:
        """Whether it has affected any connection."""
        return any((self.refused, self.reset, self.held_bytes, self.swallowed_bytes))


@dataclass
class Order:
    """A rule in force, with its counts."""

    rule: Rule
    counts: Counts = field(default_factory=Counts)

    def to_json(self) -> dict[str, Any]:
        """Return both in the form of the proxy's responses."""
        return {"rule": asdict(self.rule), "counts": asdict(self.counts)}
