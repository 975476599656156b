"""The sink families as the model runs them: production's protocols on the model's stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

from onceproof.guarantee import Guarantee
from onceproof.sinks.protocol import Part, Transaction
from onceproof.sinks.protocol.coordinated import CoordinatedParts
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.protocol.wal import Wal
from onceproof.sinks.protocol.writer import IdempotentRun, Writer
from tests.model.coordinator import topic_store
from tests.model.shared_runs import SharedSink
from tests.model.stores import (
    ModelCheckpoint,
    ModelLog,
    ModelMemory,
    ModelStore,
    ModelTransaction,
    Tick,
)
from tests.model.world import PARTITIONS, World

Tasks = Callable[[int], Sequence[Part]]
Drain = Callable[[], None]
WRITER = "model"


class ModelSink(Protocol):
    """A sink of one run."""

    def begin(self, part: Part) -> Transaction:
        """Begin to write a part, in a task."""

    def write(self, batch: int, tasks: Tasks, drain: Drain) -> None:
        """Write a batch."""

    def recover(self) -> Mapping[str, Any]:
        """Settle what dead runs left."""


class Appended(ModelTransaction):
    """A part that readers see as soon as it is written, half by half."""

    world: World

    def pre_commit(self) -> None:
        """Add the rows."""
        for rows in (self.rows[:1], self.rows[1:]):
            self.tick()
            self.world.visible.update(rows)


class Put(ModelTransaction):
    """A part whose rows are put by their keys, half by half; a newer batch stays."""

    world: World

    def pre_commit(self) -> None:
        """Put the rows."""
        for rows in (self.rows[:1], self.rows[1:]):
            self.tick()
            for row in rows:
                self.world.keyed[row] = max(self.part.batch, self.world.keyed.get(row, 0))
                self.put(row % PARTITIONS, row)

    def put(self, key: int, row: int) -> None:
        """Put a row as the value of its key, unless there is one of a newer batch."""
        there = self.world.values.get(key)
        if there is None or there[0] <= self.part.batch:
            self.world.values[key] = (self.part.batch, row)


@dataclass
class Append:
    """The control: no memory at all."""

    world: World
    run: int
    tick: Tick

    def begin(self, part: Part) -> Transaction:
        """Begin to add rows."""
        begun = Appended(part, {}, self.tick)
        begun.world = self.world
        return begun

    def write(self, batch: int, tasks: Tasks, drain: Drain) -> None:
        """Add the rows of a batch, whatever was there."""
        tasks(0)
        self.world.reach(self.run, "written")

    def recover(self) -> Mapping[str, Any]:
        """Nothing is left behind."""
        return {}


class Idempotent:
    """Rows by their keys, and a memory of what each batch stands for."""

    def __init__(self, world: World, run: int, tick: Tick) -> None:
        self.world, self.run, self.tick = world, run, tick
        memory = ModelMemory(world, run, tick)
        self.protocol = IdempotentRun(Writer(WRITER, run + 1, memory, ModelCheckpoint(world, tick)))

    def begin(self, part: Part) -> Transaction:
        """Begin to put rows."""
        begun = Put(part, {}, self.tick)
        begun.world = self.world
        return begun

    def write(self, batch: int, tasks: Tasks, drain: Drain) -> None:
        """Put the rows of a batch."""
        self.protocol.write(batch, lambda: tasks(self.protocol.writer.epoch))
        self.world.reach(self.run, "written")

    def recover(self) -> Mapping[str, Any]:
        """Claim the writer."""
        return self.protocol.recover()


def two_phase(
    world: World,
    run: int,
    tick: Tick,
    protocol: type[TwoPhase] = TwoPhase,
    store: type[ModelStore] = ModelStore,
) -> ModelSink:
    """Two-phase commit; tests give protocols and stores with a fault in them."""
    kept = store(world, run, tick)
    writer = Writer(WRITER, run + 1, kept, ModelCheckpoint(world, tick))
    return _Begun(protocol(kept, writer, partial(world.reach, run)), kept)


def two_phase_topic(
    world: World,
    run: int,
    tick: Tick,
    protocol: type[TwoPhase] = TwoPhase,
    store: Callable[[World, int, Tick], CoordinatedParts] = topic_store,
) -> ModelSink:
    """Two-phase commit with Kafka's coordinator, and a memory in a log."""
    kept = store(world, run, tick)
    writer = Writer(WRITER, run + 1, kept.memory, ModelCheckpoint(world, tick))
    return _Begun(protocol(kept, writer, partial(world.reach, run)), kept)


def wal(
    world: World, run: int, tick: Tick, *, atomic: bool, store: type[ModelLog] = ModelLog
) -> ModelSink:
    """A write-ahead log; with `atomic` the effect and its mark are one step."""
    log = store(world, run, tick)
    writer = Writer(WRITER, run + 1, log, ModelCheckpoint(world, tick))
    return _Begun(Wal(log, writer, partial(world.reach, run), atomic), log)


@dataclass
class _Begun:
    """A protocol whose store begins the parts."""

    protocol: TwoPhase | Wal
    store: ModelStore | ModelLog | CoordinatedParts

    def begin(self, part: Part) -> Transaction:
        return self.store.begin(part)

    def write(self, batch: int, tasks: Tasks, drain: Drain) -> None:
        self.protocol.write(batch, tasks, drain)

    def recover(self) -> Mapping[str, Any]:
        return self.protocol.recover()


@dataclass(frozen=True)
class Family:
    """How the sink of a run is made, what the family promises, and what its readers see."""

    make: Callable[[World, int, Tick], ModelSink]
    guarantee: Guarantee
    reads: Callable[[World], Mapping[int, int]] = attrgetter("seen")


FAMILIES: Mapping[str, Family] = {
    "append": Family(Append, Guarantee.AT_LEAST_ONCE),
    "idempotent": Family(Idempotent, Guarantee.EXACTLY_ONCE),
    "wal": Family(partial(wal, atomic=False), Guarantee.AT_LEAST_ONCE),
    "wal_atomic": Family(partial(wal, atomic=True), Guarantee.EXACTLY_ONCE),
    "two_phase": Family(two_phase, Guarantee.EXACTLY_ONCE),
    "two_phase_topic": Family(two_phase_topic, Guarantee.EXACTLY_ONCE),
    "two_phase_shared": Family(partial(SharedSink, writer=WRITER), Guarantee.EXACTLY_ONCE),
}
