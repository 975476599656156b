"""Two-phase commit by a run of which no process lasts, as Spark drives a data source of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from onceproof.sinks.protocol import Part, Transaction
from onceproof.sinks.protocol.shared_run import SharedRun, TaskResult
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.protocol.writer import Writer
from tests.model.stores import ModelCheckpoint, ModelStore, Tick
from tests.model.world import World


class ModelRuns(ModelStore):
    """A store that identifies runs by their names."""

    def claimed(self) -> tuple[int, str]:
        """Return the newest epoch and whose it is."""
        self.tick()
        return self.world.epoch, str(self.world.claimed_by.get(self.world.epoch, ""))

    def claim_for(self, run: str, attempt: int, behind: int) -> int | None:
        """Claim for a run, which is this one, unless it has."""
        self.tick()
        if self.world.epoch == behind and self.run not in self.world.claimed_by.values():
            self.claim(attempt)
        return self.world.epoch if self.world.claimed_by[self.world.epoch] == int(run) else None


@dataclass
class SharedSink:
    """A sink whose steps are taken by one process after the other, each knowing nothing."""

    world: World
    run: int
    tick: Tick
    writer: str
    process: type[SharedRun] = SharedRun

    def begin(self, part: Part) -> Transaction:
        """Begin to write a part."""
        return self._store.begin(part)

    def write(
        self, batch: int, tasks: Callable[[int], Sequence[Part]], drain: Callable[[], None]
    ) -> None:
        """Write a batch: the driver reads the state, tasks join and write, the driver commits."""
        before = self._begun().state()
        epoch = self._begun().join(str(self.run), before)
        is_replay = batch <= before.newest
        results = [TaskResult(epoch, None, is_replay)]
        try:
            if is_replay:
                drain()
            else:
                results += [TaskResult(epoch, part, False) for part in tasks(epoch)]
            self._begun().commit(batch, results)
        except Exception:
            self._begun().abort(batch, results)
            raise

    def recover(self) -> Mapping[str, Any]:
        """Claim, and settle what dead runs left."""
        return self._begun().protocol.recover()

    @property
    def _store(self) -> ModelRuns:
        return ModelRuns(self.world, self.run, self.tick)

    def _begun(self) -> SharedRun:
        store, checkpoint = self._store, ModelCheckpoint(self.world, self.tick)
        writer = Writer(self.writer, self.run + 1, store, checkpoint)
        return self.process(TwoPhase(store, writer, partial(self.world.reach, self.run)), store)
