"""Stores of the model: a store's promises kept in memory, each call of it a step.

They are there to try protocols and our harness; no guarantee of a sink rests on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.sinks.protocol import Decision, Part, Span
from tests.model.world import World

# Counts a step of one process, and is where that process is crashed, failed or held.
Tick = Callable[[], None]


@dataclass
class ModelCheckpoint:
    """The checkpoint, as the query of one run and its sink see it."""

    world: World
    tick: Tick

    def query(self) -> str:
        """Return the query's id."""
        return self.world.disk.query

    def span(self, batch: int) -> Span:
        """Return what the offset log says of a batch."""
        return self.world.disk.span(batch)

    def is_committed(self, batch: int) -> bool:
        """Whether the commit log has the batch."""
        self.tick()
        return batch in self.world.disk.commits


@dataclass
class ModelMemory:
    """What a store remembers, as one run asks it."""

    world: World
    run: int
    tick: Tick

    def claim(self, attempt: int) -> int:
        """Return the next epoch."""
        self.tick()
        self.world.epoch += 1
        self.world.claimed_by[self.world.epoch] = self.run
        return self.world.epoch

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        self.tick()
        found = self.world.decisions
        return found[max(found)] if found else None

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of a batch."""
        self.tick()
        return self.world.decisions.get(batch)

    def decide(self, decision: Decision) -> bool:
        """Decide, if no newer epoch was claimed and there is no other decision."""
        self.tick()
        world = self.world
        if world.epoch != decision.epoch or decision.batch in world.decisions:
            return False
        world.decisions[decision.batch] = decision
        self.tick()  # decided, but without a reply
        self.believe(decision.batch)
        return True

    def believe(self, batch: int) -> None:
        """Record that this run will get the reply that it decided a batch."""
        self.world.believe(batch, self.run)


@dataclass
class ModelTransaction:
    """One part being written."""

    part: Part
    into: dict[Part, tuple[int, ...]]
    tick: Tick
    rows: tuple[int, ...] = ()

    def write(self, rows: Any) -> None:
        """Take some rows; they are not visible."""
        self.tick()
        self.rows += tuple(rows)

    def pre_commit(self) -> None:
        """Make them durable."""
        self.tick()
        self.into[self.part] = self.rows

    def abort(self) -> None:
        """Do nothing."""


class ModelStore(ModelMemory):
    """A store of two-phase commit."""

    def begin(self, part: Part) -> ModelTransaction:
        """Begin a part."""
        return ModelTransaction(part, self.world.open, self.tick)

    def open(self) -> Sequence[Part]:
        """Return the pre-committed parts."""
        self.tick()
        return sorted(self.world.open)

    def commit(self, part: Part) -> None:
        """Make a part visible, once."""
        self.tick()
        self.world.visible.update(self.world.open.pop(part, ()))

    def abort(self, part: Part) -> None:
        """Undo a part, and record a violation if that is not allowed."""
        self.tick()
        self.world.check_abort(part, self.run)
        self.world.open.pop(part, None)


class ModelLog(ModelMemory):
    """A store of a write-ahead log."""

    def decide(self, decision: Decision) -> bool:
        """Name the staged parts of a batch, also instead of others."""
        self.tick()
        if self.world.epoch != decision.epoch or decision.batch in self.world.marked:
            return False
        self.world.decisions[decision.batch] = decision
        self.tick()
        return True

    def begin(self, part: Part) -> ModelTransaction:
        """Begin to stage a part."""
        return ModelTransaction(part, self.world.staged, self.tick)

    def waiting(self) -> Sequence[Decision]:
        """Return the decisions that are not marked, in order."""
        self.tick()
        found = self.world.decisions
        return [found[batch] for batch in sorted(found) if batch not in self.world.marked]

    def apply(
        self, decision: Decision, epoch: int, half: Callable[[], None], *, mark: bool
    ) -> bool:
        """Make the rows visible: in one step with the mark, or half by half."""
        if not self._may(decision, epoch):
            return False
        rows = [row for part in decision.parts for row in self.world.staged[part]]
        if not mark:
            self.world.visible.update(rows[: len(rows) // 2])
            rows = rows[len(rows) // 2 :]
            half()
            self.tick()
        self.world.visible.update(rows)
        if mark:
            self.world.marked.add(decision.batch)
        return True

    def mark(self, decision: Decision, epoch: int) -> bool:
        """Mark a batch as applied."""
        if not self._may(decision, epoch):
            return False
        self.world.marked.add(decision.batch)
        return True

    def clean(self, keep: Iterable[Part], epoch: int) -> int:
        """Remove staged parts without a decision."""
        self.tick()
        gone = {part for part in self.world.staged if part.epoch <= epoch} - set(keep)
        for part in gone:
            del self.world.staged[part]
        return len(gone)

    def _may(self, decision: Decision, epoch: int) -> bool:
        self.tick()
        return self.world.epoch == epoch and decision.batch not in self.world.marked
