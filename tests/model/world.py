"""What outlives every process of the model: the input, the checkpoint and the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from onceproof.errors import OnceproofError
from onceproof.sinks.protocol import Decision, Part, Span
from onceproof.sinks.protocol.coordinated import ONGOING
from tests.model.transactions import Transactions

# Which rows of the input a batch is, as the offset log says: from the first, up to the last.
Range = tuple[int, int]
PARTITIONS = 2
BEHIND = "behind "
START = f"{BEHIND}start"
END = "the end"


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
        """Return the begin and the end of a batch."""
        before = self.offsets.get(batch - 1)
        return Span("" if before is None else str(before[1]), str(self.offsets[batch][1]))


@dataclass
class World:
    """Everything that is durable, and the violations that were detected.

    `rows` of the input are numbered; readers of the output see `visible` and `keyed`.
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
    # The run of each claim, the running ones, and those with the reply that they decided a batch.
    claimed_by: dict[int, int] = field(default_factory=dict)
    alive: set[int] = field(default_factory=set)
    believers: dict[int, list[int]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    # Kafka's: the log of decisions, and the coordinator's books.
    journal: list[str] = field(default_factory=list)
    transactions: Transactions = field(default_factory=Transactions)
    ended: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # The newest value of each key, and of which batch it is.
    values: dict[int, tuple[int, int]] = field(default_factory=dict)
    # Rows that are gone when their process dies, or when the machine does.
    unflushed: dict[Part, tuple[int, ...]] = field(default_factory=dict)
    unsynced: dict[Part, tuple[int, ...]] = field(default_factory=dict)
    # The step that each run came to last, what struck at which, and what a reader was shown.
    points: dict[int, str] = field(default_factory=dict)
    struck: list[tuple[str, str]] = field(default_factory=list)
    shown: Counter[int] = field(default_factory=Counter)
    taken_back: int = 0

    def reach(self, run: int, point: str, batch: int = 0) -> None:
        """Note that a run comes to a named step; this is the protocols' step, too."""
        self.points[run] = point

    def step_of(self, run: int) -> str:
        """Return where a run is: right at a named step, or behind it."""
        point = self.points.get(run, START)
        if not point.startswith(BEHIND):
            self.points[run] = f"{BEHIND}{point}"
        return point

    def strike(self, how: str, point: str) -> None:
        """Note that something struck at a step."""
        self.struck.append((how, point))

    def woke(self, tasks: Iterable[tuple[int, int]], point: str) -> None:
        """Note that the attempts at these tasks went on, by how far their batch was then."""
        batch = min(batch for batch, _ in tasks)
        newest = max(self.disk.commits, default=-1)
        if newest >= batch and point != END:
            point = f"{BEHIND}its batch" if newest == batch else f"{BEHIND}a later batch"
        self.strike("wakes", point)

    def die(self, *, power: bool) -> None:
        """Lose what a process takes along, or with `power` the machine."""
        fragile = [self.unflushed, self.unsynced] if power else [self.unflushed]
        for rows_of in fragile:
            for part, rows in rows_of.items():
                if part in self.open:
                    self.open[part] = ()
                else:
                    self.visible.subtract(rows)
            rows_of.clear()

    def look(self, reads: Callable[[World], Mapping[int, int]]) -> None:
        """Let a reader look, and count rows that it saw and does not see any more."""
        now = Counter(reads(self))
        self.taken_back += (self.shown - now).total()
        self.shown = now

    def believe(self, batch: int, run: int) -> None:
        """Record that a run will get the reply that it decided a batch."""
        believers = self.believers.setdefault(batch, [])
        believers.append(run)
        if len(believers) > 1:
            self.violations.append(f"batch {batch} was decided by runs {believers}")

    def check_abort(self, part: Part, run: int) -> None:
        """Record a violation if this run may not undo a part."""
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

    @property
    def changed(self) -> int:
        """How many keys hold another value than their last."""
        last = {row % PARTITIONS: row for row in range(self.rows)}
        return sum(row != last[key] for key, (_, row) in self.values.items())

    @property
    def stuck(self) -> int:
        """How many committed rows a transaction hides that was begun before and never ended."""
        names = list(self.transactions.known)
        begun = [
            at for at, one in enumerate(names) if self.transactions.known[one].state == ONGOING
        ]
        behind = names[begun[0] :] if begun else []
        return sum(len(self.ended.get(name, ())) for name in behind)
