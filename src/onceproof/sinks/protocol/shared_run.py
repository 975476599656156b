"""Two-phase commit by a run without a long-lived process: tasks claim, the driver commits.

A run is identified by a unique name that its tasks receive. Before each batch the driver's side
reads the store's state. The first tasks of a run claim the writer, but only while the newest epoch
is still the one in that state, so a delayed task claims nothing. A superseded run never claims
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onceproof.errors import RequestError, StackError
from onceproof.sinks.protocol import Memory, Part, SupersededError
from onceproof.sinks.protocol.two_phase import TwoPhase


class Runs(Memory, Protocol):
    """A memory that identifies runs by their names."""

    def claimed(self) -> tuple[int, str]:
        """Return the newest epoch and the run that claimed it; epoch 0 if there is no claim."""

    def claim_for(self, run: str, attempt: int, behind: int) -> int | None:
        """Return the run's epoch; claim it if the newest epoch is still `behind`.

        Returns None if another run has claimed since, or if this run was superseded. Tasks of a
        run may call it concurrently and get the same epoch.
        """


@dataclass(frozen=True)
class StoreState:
    """The store's state before a batch: newest epoch, the run that claimed it, newest decision."""

    epoch: int
    run: str
    newest: int


@dataclass(frozen=True)
class TaskResult:
    """The result that a task sends to the driver: its epoch, and its part or None without rows.

    `is_replay` means that the batch was already decided, so the task wrote nothing.
    """

    epoch: int
    part: Part | None
    is_replay: bool


@dataclass(frozen=True)
class SharedRun:
    """A process of a run."""

    protocol: TwoPhase
    memory: Runs

    def state(self) -> StoreState:
        """Return the store's state; called in the driver, before the tasks of each batch."""
        epoch, run = self.memory.claimed()
        newest = self.memory.newest()
        return StoreState(epoch, run, newest.batch if newest else -1)

    def join(self, run: str, before: StoreState) -> int:
        """Return the run's epoch; called in each task, the first of which claim it.

        A task that claims also settles older runs: no later call is guaranteed to happen.
        """
        if before.run == run:
            return before.epoch
        writer = self.protocol.writer
        epoch = self.memory.claim_for(run, writer.attempt, before.epoch)
        if epoch is None:
            raise SupersededError(
                f"writer {writer.name} was claimed by another run (epoch {before.epoch} or later),"
                " so this run stops; run one driver at a time on a checkpoint"
            )
        writer.join(epoch)
        self.protocol.settle()
        return epoch

    def commit(self, batch: int, results: Sequence[TaskResult | None]) -> None:
        """Commit a batch; every task must have a result."""
        present = [one for one in results if one is not None]
        if len(present) < len(results) or not present:
            raise RequestError(
                f"batch {batch} has tasks without a result, as with a continuous trigger;"
                " write trigger(processingTime=...) or trigger(availableNow=True)"
            )
        writer = self.protocol.writer
        writer.join(max(one.epoch for one in present))
        if any(one.is_replay for one in present) and writer.decision_of(batch) is None:
            raise StackError(
                f"batch {batch} was decided when its tasks began, but its decision is gone: the"
                f" records of writer {writer.name} were removed during the run"
            )
        self.protocol.finish(batch, [one.part for one in present if one.part])

    def abort(self, batch: int, results: Sequence[TaskResult | None]) -> None:
        """Settle a failed batch; without any result this is left to the next run."""
        epochs = [one.epoch for one in results if one is not None]
        if epochs:
            self.protocol.writer.join(max(epochs))
            self.protocol.sweep(batch)
