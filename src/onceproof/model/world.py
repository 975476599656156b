"""What outlives every process of the model: the input, the checkpoint and the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from onceproof.errors import OnceproofError
from onceproof.model.transactions import Transactions
from onceproof.sinks.protocol import Decision, Part, Span

# Which rows of the input a batch is, as the offset log says: from the first, up to the last.
Range = tuple[int, int]


class CrashError(BaseException):
    """A process is dead: no handler of its own runs."""


class StoreError(OnceproofError):
    """The store did not answer, and may have done what it was asked for."""


class ConcurrentError(OnceproofError):
    """The engine found a file in its log that it was about to write."""


@dataclass
class Disk:
    """The checkpoint: the query's id, the offset log and the commit log."""

    query: str = "first"
    offsets: dict[int, Range] = field(default_factory=dict)
    commits: set[int] = field(default_factory=set)

    def copy(self) -> Disk:
        """Return the same as it is now."""
        return Disk(self.query, dict(self.offsets), set(self.commits))

    def span(self, batch: int) -> Span:
        """Return where a batch begins and ends."""
        before = self.offsets.get(batch - 1)
        return Span("" if before is None else str(before[1]), str(self.offsets[batch][1]))


@dataclass
class World:
    """All that is durable, and what was seen to go wrong in it.

    `rows` of the input are numbered; whoever reads the output sees `visible` and `keyed`.
    """

    rows: int = 6
    disk: Disk = field(default_factory=Disk)
    epoch: int = 0
    decisions: dict[int, Decision] = field(default_factory=dict)
    marked: set[int] = field(default_factory=set)
    open: dict[Part, tuple[int, ...]] = field(default_factory=dict)
    staged: dict[Part, tuple[int, ...]] = field(default_factory=dict)
    visible: Counter[int] = field(default_factory=Counter)
    keyed: dict[int, int] = field(default_factory=dict)
    done: set[Part] = field(default_factory=set)
    # Which run made which claim, which runs live, and who was told that it decided a batch.
    claimed_by: dict[int, int] = field(default_factory=dict)
    alive: set[int] = field(default_factory=set)
    believers: dict[int, list[int]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    # Kafka's: the log of decisions, and the coordinator's books.
    journal: list[str] = field(default_factory=list)
    transactions: Transactions = field(default_factory=Transactions)

    def believe(self, batch: int, run: int) -> None:
        """Note that a run is about to be told that it decided a batch."""
        believers = self.believers.setdefault(batch, [])
        believers.append(run)
        if len(believers) > 1:
            self.violations.append(f"batch {batch} was decided by runs {believers}")

    def check_abort(self, part: Part, run: int) -> None:
        """Note if nobody may undo a part, which this run is doing."""
        decision = self.decisions.get(part.batch)
        if decision is not None and part in decision.parts:
            self.violations.append(f"{part.name} was decided and is undone by run {run}")
        owner = self.claimed_by.get(part.epoch)
        if owner != run and owner in self.alive and part.epoch == self.epoch:
            self.violations.append(f"{part.name} of run {owner} is undone by run {run}")

    @property
    def seen(self) -> Mapping[int, int]:
        """How many copies of each row a reader sees."""
        return self.visible + Counter(self.keyed.keys())

    @property
    def lost(self) -> int:
        """How many rows no reader sees."""
        return len(set(range(self.rows)) - set(self.seen))

    @property
    def duplicated(self) -> int:
        """How many extra copies readers see."""
        return sum(copies - 1 for copies in self.seen.values())
