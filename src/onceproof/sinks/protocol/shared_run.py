"""Two-phase commit by a run of which no process lasts: tasks claim, and the driver finishes.

A run is known by a name that its tasks are given, and that no other run has. Before a batch the
driver's side tells what the store knows; the tasks of a run that has not claimed claim behind just
that, so a task that wakes up late claims nothing; and a run that was superseded never claims again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onceproof.errors import RequestError, StackError
from onceproof.sinks.protocol import Memory, Part, SupersededError
from onceproof.sinks.protocol.two_phase import TwoPhase


class Runs(Memory, Protocol):
    """A memory that tells runs apart by their names."""

    def claimed(self) -> tuple[int, str]:
        """Return the newest epoch and the run that has claimed it; 0 where nobody has."""

    def claim_for(self, run: str, attempt: int, behind: int) -> int | None:
        """Return the epoch of a run, which it claims if the newest one is still `behind`.

        None if another has claimed since, or if the run has claimed once and was superseded. Many
        tasks of a run may call it at once, and get the same epoch.
        """


@dataclass(frozen=True)
class Known:
    """What a store knows before a batch: its newest epoch, whose that is, and what is decided."""

    epoch: int
    run: str
    newest: int


@dataclass(frozen=True)
class Told:
    """What a task tells the driver: its epoch, and its part, None if it had no rows.

    `is_replay` says that the batch was decided before, so that nothing was written.
    """

    epoch: int
    part: Part | None
    is_replay: bool


@dataclass(frozen=True)
class SharedRun:
    """One process of a run."""

    protocol: TwoPhase
    memory: Runs

    def known(self) -> Known:
        """Return what the store knows; called in the driver, before the tasks of each batch."""
        epoch, run = self.memory.claimed()
        newest = self.memory.newest()
        return Known(epoch, run, newest.batch if newest else -1)

    def join(self, run: str, known: Known) -> int:
        """Return the run's epoch; called in each task, of which the first ones claim.

        Whoever claims ends what older runs have left: nobody else is sure to come to it.
        """
        if known.run == run:
            return known.epoch
        writer = self.protocol.writer
        epoch = self.memory.claim_for(run, writer.attempt, known.epoch)
        if epoch is None:
            raise SupersededError(
                f"another run has claimed writer {writer.name} behind epoch {known.epoch}, so this"
                " one stops: let one driver at a time run on a checkpoint"
            )
        writer.join(epoch)
        self.protocol.settle()
        return epoch

    def commit(self, batch: int, told: Sequence[Told | None]) -> None:
        """Commit a batch, all of whose tasks have told."""
        heard = [one for one in told if one is not None]
        if len(heard) < len(told) or not heard:
            raise RequestError(
                f"batch {batch} has tasks that wrote nothing, as Spark has them with a continuous"
                " trigger: write trigger(processingTime=...) or trigger(availableNow=True)"
            )
        writer = self.protocol.writer
        writer.join(max(one.epoch for one in heard))
        if any(one.is_replay for one in heard) and writer.known(batch) is None:
            raise StackError(
                f"batch {batch} was decided when its tasks began, and is no more: somebody removed"
                f" what writer {writer.name} remembers, in the middle of a run"
            )
        self.protocol.finish(batch, [one.part for one in heard if one.part])

    def abort(self, batch: int, told: Sequence[Told | None]) -> None:
        """Settle what a batch that has failed may have left; without a word the next run does."""
        epochs = [one.epoch for one in told if one is not None]
        if epochs:
            self.protocol.writer.join(max(epochs))
            self.protocol.sweep(batch)
