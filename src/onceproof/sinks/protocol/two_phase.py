"""Two-phase commit: parts are pre-committed by tasks, decided once, committed, and swept.

Spark runs a batch again where another engine would commit it. So what is pre-committed counts for
nothing until the decision is durable, and everything from then on.
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
    """The driver's side, for one run."""

    store: Store
    writer: Writer
    step: Step

    def write(
        self, batch: int, tasks: Callable[[int], Sequence[Part]], drain: Callable[[], None]
    ) -> None:
        """Write a batch: run its tasks under an epoch, and commit the parts that won.

        Of a batch that is decided already nothing is written: `drain` must run its plan, without
        which a stateful query cannot go on.
        """
        decided = self.writer.known(batch)
        if not self.writer.has_claimed:
            self.recover()
            decided = self.writer.known(batch)
        if decided is None:
            self._commit(self._decided(batch, self._written(batch, tasks)))
        else:
            drain()
            self.sweep(batch)
        self.step("sink_committed", batch)

    def finish(self, batch: int, parts: Sequence[Part]) -> None:
        """Commit what a batch's tasks have pre-committed, under this run's epoch, elsewhere.

        Of a batch that is decided already its parts are committed, and these undone.
        """
        if self.writer.known(batch) is None:
            self._commit(self._decided(batch, parts))
        else:
            self.sweep(batch)
        self.step("sink_committed", batch)

    def sweep(self, batch: int) -> None:
        """End what lost, here or in an older run; the parts of a newer one are not ours to end."""
        for part in self.store.open():
            if (part.epoch, part.batch) <= (self.writer.epoch, batch):
                self._settle(part)

    def recover(self) -> dict[str, Any]:
        """Claim the writer, then end what every older run has left, and say what that was.

        `decided` and `undone` are attempts at batches, each a batch and a start of the job.
        """
        self.writer.claim()
        return self.settle()

    def settle(self) -> dict[str, Any]:
        """End what every older run than this one has left."""
        epoch = self.writer.epoch
        left = [part for part in self.store.open() if part.epoch < epoch]
        committed = [part for part in left if self._settle(part)]
        rolled_back = [part for part in left if part not in committed]
        decisions = [self.writer.memory.decision(batch) for batch in {one.batch for one in left}]
        told = [one for one in (self.writer.memory.newest(), *decisions) if one]
        decided = {(one.batch, one.attempt) for one in told}
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
                f"batch {batch} cannot be decided: {min(gone).name} was pre-committed and is gone."
                " Either a newer run has claimed the writer, or somebody ended it by hand"
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
        """Commit a part that is decided, else undo it; return which."""
        decision = self.writer.memory.decision(part.batch)
        if decision is not None and part in decision.parts:
            self.store.commit(part)
            return True
        self.store.abort(part)
        fenced(part.batch, "a part that no decision names was undone", part=part.name)
        return False
