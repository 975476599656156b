"""Two-phase commit: tasks pre-commit parts; the driver decides them once, commits and sweeps.

Spark reruns a batch where another engine would commit it. So a pre-committed part is discarded
unless a decision names it, and committed once the decision is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.errors import StackError
from onceproof.fencing import fenced
from onceproof.sinks.protocol import Decision, Part, Step, Store
from onceproof.sinks.protocol.writer import Writer


@dataclass(frozen=True)
class TwoPhase:
    """The driver's side of one run."""

    store: Store
    writer: Writer
    step: Step

    def write(
        self, batch: int, tasks: Callable[[int], Sequence[Part]], drain: Callable[[], None]
    ) -> None:
        """Write a batch: run its tasks under this run's epoch, and commit the parts that won.

        A batch that is already decided is not written again: `drain` must run its plan, without
        which a stateful query cannot go on.
        """
        decided = self.writer.decision_of(batch)
        if not self.writer.has_claimed:
            self.recover()
            decided = self.writer.decision_of(batch)
        if decided is None:
            self._commit(self._decided(batch, self._written(batch, tasks)))
        else:
            drain()
            self.sweep(batch)
        self.step("sink_committed", batch)

    def finish(self, batch: int, parts: Sequence[Part]) -> None:
        """Commit parts that tasks of this run have pre-committed through another process.

        If the batch is already decided, the decided parts are committed and these are undone.
        """
        if self.writer.decision_of(batch) is None:
            self._commit(self._decided(batch, parts))
        else:
            self.sweep(batch)
        self.step("sink_committed", batch)

    def sweep(self, batch: int) -> None:
        """Settle the parts of older runs, and of this run up to the batch, but of no newer run."""
        for part in self.store.open():
            if (part.epoch, part.batch) <= (self.writer.epoch, batch):
                self._settle(part)

    def recover(self) -> dict[str, Any]:
        """Claim the writer, then settle all older runs; return the actions taken.

        `decided` and `undone` are pairs of a batch and a start of the job.
        """
        self.writer.claim()
        return self.settle()

    def settle(self) -> dict[str, Any]:
        """Commit or abort the open parts of all older runs; return the actions taken."""
        epoch = self.writer.epoch
        left = [part for part in self.store.open() if part.epoch < epoch]
        committed = [part for part in left if self._settle(part)]
        rolled_back = [part for part in left if part not in committed]
        decisions = [self.writer.memory.decision(batch) for batch in {one.batch for one in left}]
        present = [one for one in (self.writer.memory.newest(), *decisions) if one]
        decided = {(one.batch, one.attempt) for one in present}
        return {
            "epoch": epoch,
            "committed": [part.name for part in committed],
            "rolled_back": [part.name for part in rolled_back],
            "decided": decided,
            "undone": {(part.batch, part.attempt) for part in rolled_back} - decided,
        }

    def _written(self, batch: int, tasks: Callable[[int], Sequence[Part]]) -> Sequence[Part]:
        try:
            return tasks(self.writer.epoch)
        except Exception:
            self.sweep(batch)
            raise

    def _decided(self, batch: int, parts: Sequence[Part]) -> Decision:
        self.step("all_pre_committed", batch)
        if gone := set(parts) - set(self.store.open()):
            fenced(batch, "a batch was not decided: a part of it is gone", part=min(gone).name)
            raise StackError(
                f"batch {batch} cannot be decided: its pre-committed part {min(gone).name} is gone;"
                " either a newer run has claimed the writer, or the part was ended by hand"
            )
        return self.writer.decide(batch, tuple(parts))

    def _commit(self, decision: Decision) -> None:
        batch = decision.batch
        self.step("decided", batch)
        for number, part in enumerate(decision.parts):
            if number and number == len(decision.parts) // 2:
                self.step("commit_half", batch)
            self.store.commit(part)
        self.sweep(batch)
        self.step("committed", batch)

    def _settle(self, part: Part) -> bool:
        """Commit a part that is decided, else undo it; return whether it was committed."""
        decision = self.writer.memory.decision(part.batch)
        if decision is not None and part in decision.parts:
            self.store.commit(part)
            return True
        self.store.abort(part)
        fenced(part.batch, "a part that no decision names was undone", part=part.name)
        return False
