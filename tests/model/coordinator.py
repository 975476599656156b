"""Kafka's brokers for a two-phase commit: a log, and a coordinator of transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.sinks.protocol import Decision, Part
from onceproof.sinks.protocol.coordinated import ONGOING, CoordinatedParts, Seen, id_of, part_of
from onceproof.sinks.protocol.journal import JournalMemory
from tests.model.stores import Tick
from tests.model.transactions import Transactions
from tests.model.world import StoreError, World

HEAD, MARK = "model:", "0"


@dataclass
class ModelJournal:
    """The log of a writer, as one process reads it."""

    world: World
    tick: Tick
    _read: int = 0

    def append(self, text: str) -> None:
        """Append a record."""
        self.tick()
        self.world.journal.append(text)
        self.tick()  # appended, but without a reply

    def read(self) -> Sequence[tuple[int, str]]:
        """Return the records after those that were read."""
        self.tick()
        begin, self._read = self._read, len(self.world.journal)
        return list(enumerate(self.world.journal))[begin:]

    def mark(self) -> str:
        """Return the mark of the only journal."""
        return MARK

    def trim(self, before: int) -> None:
        """Keep everything."""

    def close(self) -> None:
        """Do nothing."""


class ModelJournalMemory(JournalMemory):
    """The memory of production, which records claims and decisions in the world."""

    world: World
    run: int

    def claim(self, attempt: int) -> int:
        """Claim, and record the run that did."""
        epoch = super().claim(attempt)
        self.world.epoch = max(self.world.epoch, epoch)
        self.world.claimed_by[epoch] = self.run
        return epoch

    def decide(self, decision: Decision) -> bool:
        """Decide, and record the run that did."""
        is_decided = super().decide(decision)
        if is_decided:
            self.world.decisions[decision.batch] = decision
            self.world.believe(decision.batch, self.run)
        return is_decided


@dataclass
class ModelCoordinator:
    """The coordinator, as used by one run."""

    world: World
    run: int
    tick: Tick

    @property
    def books(self) -> Transactions:
        """The state of all ids."""
        return self.world.transactions

    def unfinished(self, head: str) -> Mapping[str, Seen]:
        """Return the open transactions."""
        self.tick()
        found = self.books.known.items()
        return {n: seen for n, seen in found if n.startswith(head) and seen.state == ONGOING}

    def look(self, names: Iterable[str]) -> Mapping[str, Seen]:
        """Return the state of these transactions."""
        self.tick()
        return {name: self.books.known[name] for name in names if name in self.books.known}

    def end(self, name: str, producer: int, epoch: int, *, commit: bool) -> bool:
        """End a transaction, once; its rows become visible or are discarded."""
        self.tick()
        part, _ = part_of(HEAD, name)
        is_ours = self.books.end(name, producer, epoch, commit=commit) == "ok"
        rows = self.world.open.pop(part, ()) if is_ours else ()
        if commit:
            self.world.visible.update(rows)
            self.world.ended[name] = self.world.ended.get(name, ()) + rows
        elif is_ours:
            self.world.check_abort(part, self.run)
        self.tick()  # ended, but without a reply
        return is_ours

    def close(self) -> None:
        """Do nothing."""


@dataclass
class ModelTopicPart:
    """A transaction that a task opens with its first rows."""

    world: World
    part: Part
    tick: Tick
    epoch: int = -1

    @property
    def name(self) -> str:
        """The transaction's id."""
        return id_of(HEAD, self.part, MARK)

    def write(self, rows: Any) -> None:
        """Write rows, which are not visible before the end."""
        self.tick()
        if self.epoch < 0:
            _, self.epoch = self.world.transactions.init(self.name)
        self._flush()
        self.world.open[self.part] = self.world.open.get(self.part, ()) + tuple(rows)

    def pre_commit(self) -> None:
        """Flush, or raise if the producer was fenced."""
        self.tick()
        self._flush()

    def abort(self) -> None:
        """Leave it to the sweep."""

    def _flush(self) -> None:
        if not self.world.transactions.write(self.name, self.epoch):
            raise StoreError(f"{self.name} was fenced")


def topic_store(world: World, run: int, tick: Tick) -> CoordinatedParts:
    """Return production's store on these brokers."""
    memory = ModelJournalMemory(ModelJournal(world, tick))
    memory.world, memory.run = world, run
    coordinator = ModelCoordinator(world, run, tick)
    return CoordinatedParts(
        coordinator, memory, HEAD, "model", lambda part: ModelTopicPart(world, part, tick)
    )
