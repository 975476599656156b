"""Batches that may be written again, but only as the batches that they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onceproof.sinks.protocol.writer import Writer


@dataclass(frozen=True)
class Remembered:
    """The driver's side of an idempotent sink, for one run.

    What a batch stands for is remembered before its first row is written: a replay puts the same
    rows in the same places, and what is no replay is refused.
    """

    writer: Writer

    def write(self, batch: int, put: Callable[[], object]) -> None:
        """Write a batch by `put`, which runs the plan."""
        known = self.writer.known(batch)
        if not self.writer.has_claimed:
            self.writer.claim()
            known = self.writer.known(batch)
        if known is None:
            self.writer.decide(batch)
        put()

    def recover(self) -> dict[str, Any]:
        """Claim the writer, so that no older run begins another batch."""
        return {"epoch": self.writer.claim()}
