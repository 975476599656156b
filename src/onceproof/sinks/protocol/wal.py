"""A write-ahead log: a batch is staged, and applied once it is in the commit log.

Batches are applied in order: at the start of the next batch, at the end, and before each start of
the job. A replay replaces a staged batch that is not in the commit log, so the plan may give other
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.sinks.protocol import Decision, Log, Part, Step
from onceproof.sinks.protocol.writer import Writer


@dataclass(frozen=True)
class Wal:
    """The driver's side of one run. `writer.memory` is the log.

    With `atomic` the rows and their mark are one transaction. Otherwise a run that crashes between
    them leaves a batch that is applied again.
    """

    log: Log
    writer: Writer
    step: Step
    atomic: bool

    def write(
        self, batch: int, tasks: Callable[[int], Sequence[Part]], drain: Callable[[], None]
    ) -> None:
        """Apply the ready batches, then stage this one; if it is applied, only run its plan."""
        self.writer.decision_of(batch)
        self.writer.claim()
        self._apply_ready()
        is_decided = self.writer.decision_of(batch) is not None
        if is_decided and batch not in {one.batch for one in self.log.waiting()}:
            drain()
        else:
            self.writer.decide(batch, tuple(tasks(self.writer.epoch)))
            self.step("staged", batch)
        self._clean()
        self.step("sink_committed", batch)

    def recover(self) -> dict[str, Any]:
        """Claim the writer, apply the ready batches, and remove parts that no decision names."""
        epoch = self.writer.claim()
        applied = self._apply_ready()
        return {
            "epoch": epoch,
            "applied": [decision.batch for decision in applied],
            "removed": self._clean(),
            "decided": {(decision.batch, decision.attempt) for decision in applied},
        }

    def _apply_ready(self) -> list[Decision]:
        applied = []
        for decision in self.log.waiting():
            self.writer.check_query(decision)
            if not self.writer.checkpoint.is_committed(decision.batch):
                break
            self._apply(decision)
            applied.append(decision)
        return applied

    def _apply(self, decision: Decision) -> None:
        batch, epoch = decision.batch, self.writer.epoch

        def half() -> None:
            self.step("apply_half", batch)

        if not self.log.apply(decision, epoch, half, mark=self.atomic):
            raise self.writer.superseded(batch)
        if not self.atomic:
            self.step("applied_unmarked", batch)
            if not self.log.mark(decision, epoch):
                raise self.writer.superseded(batch)
        self.step("marked", batch)

    def _clean(self) -> int:
        keep = {part for decision in self.log.waiting() for part in decision.parts}
        return self.log.clean(keep, self.writer.epoch)
