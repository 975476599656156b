"""A run of a writer: it claims once, and rejects a checkpoint that its memory contradicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onceproof.errors import RequestError
from onceproof.fencing import fenced
from onceproof.sinks.protocol import Checkpoint, Decision, Memory, Part, SupersededError

# The number of decisions that a store keeps per writer; Spark keeps the offsets of 100 batches. All
# parts of older batches are ended: a batch is decided only after the batches before it are settled.
KEPT = 1000
_ANEW = (
    "To start over, empty the target and give the sink another writer; to continue, restore the"
    " checkpoint"
)


@dataclass
class Writer:
    """The writer of one run: its name, the start of the job, and the epoch once it is claimed."""

    name: str
    attempt: int
    memory: Memory
    checkpoint: Checkpoint
    epoch: int = field(init=False, default=0)

    @property
    def has_claimed(self) -> bool:
        """Whether this run has claimed; it claims once, even if it is superseded later."""
        return self.epoch > 0

    def claim(self) -> int:
        """Return this run's epoch."""
        if not self.has_claimed:
            self.epoch = self.memory.claim(self.attempt)
        return self.epoch

    def join(self, epoch: int) -> None:
        """Use an epoch that another process of this run has claimed."""
        self.epoch = epoch

    def decision_of(self, batch: int) -> Decision | None:
        """Return the decision of a batch, None for the next batch.

        Raises `RequestError` if the memory belongs to another checkpoint, since going on would
        skip input or write it twice.
        """
        newest = self.memory.newest()
        if newest is None:
            return None
        self.check_query(newest)
        span = self.checkpoint.span(batch)
        if batch > newest.batch:
            self._check_next(batch, newest)
            return None
        found = newest if batch == newest.batch else self.memory.decision(batch)
        if found is None or found.span != span:
            problem = "covered other offsets" if found else "has no decision any more"
            raise RequestError(
                f"batch {batch} of writer {self.name} {problem}, and batch {newest.batch} is"
                f" decided already: the checkpoint is an old copy. {_ANEW}"
            )
        return found

    def check_query(self, decision: Decision) -> None:
        """Raise `RequestError` if a decision belongs to another query than the checkpoint."""
        query = self.checkpoint.query()
        if decision.query != query:
            raise RequestError(
                f"writer {self.name} has decided batch {decision.batch} of query {decision.query},"
                f" but this checkpoint belongs to query {query}, which would write all input"
                f" again. {_ANEW}"
            )

    def decide(self, batch: int, parts: tuple[Part, ...] = ()) -> Decision:
        """Decide a batch as these parts; raises if a newer run has claimed the writer."""
        checkpoint = self.checkpoint
        decision = Decision(
            batch, checkpoint.query(), checkpoint.span(batch), self.epoch, self.attempt, parts
        )
        if not self.memory.decide(decision):
            raise self.superseded(batch)
        return decision

    def superseded(self, batch: int) -> SupersededError:
        """Record that this run was superseded; return the error that the caller must raise."""
        fenced(batch, "a run was superseded", writer=self.name, epoch=self.epoch)
        return SupersededError(
            f"batch {batch}: a run newer than epoch {self.epoch} has claimed writer {self.name},"
            " so this run stops; run one driver at a time on a checkpoint"
        )

    def _check_next(self, batch: int, newest: Decision) -> None:
        if batch > newest.batch + 1:
            raise RequestError(
                f"batch {batch} does not follow batch {newest.batch}, the newest that writer"
                f" {self.name} has decided: the store lost the batches in between. {_ANEW}"
            )
        if self.checkpoint.span(batch).start != newest.span.end:
            raise RequestError(
                f"batch {batch} does not begin where batch {newest.batch} of writer {self.name}"
                f" ends: the checkpoint was changed. {_ANEW}"
            )


@dataclass(frozen=True)
class IdempotentRun:
    """The driver's side of an idempotent sink, for one run.

    The input of a batch is recorded before its first row is written: a replay writes the same rows
    to the same places, and a batch with other input is rejected.
    """

    writer: Writer

    def write(self, batch: int, put: Callable[[], object]) -> None:
        """Write a batch by calling `put`, which runs the plan."""
        decision = self.writer.decision_of(batch)
        if not self.writer.has_claimed:
            self.writer.claim()
            decision = self.writer.decision_of(batch)
        if decision is None:
            self.writer.decide(batch)
        put()

    def recover(self) -> dict[str, Any]:
        """Claim the writer, so that no older run can begin another batch."""
        return {"epoch": self.writer.claim()}
