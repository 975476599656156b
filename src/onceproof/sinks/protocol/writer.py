"""One run of a writer: it claims once, and refuses a checkpoint that its memory does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onceproof.errors import RequestError
from onceproof.fencing import fenced
from onceproof.sinks.protocol import Checkpoint, Decision, Memory, Part, SupersededError

# Decisions that a store keeps of a writer; Spark itself keeps the offsets of 100 batches. All parts
# of an older batch are ended: who decides a batch has settled what was there before.
KEPT = 1000
_ANEW = (
    "To begin anew, empty the target and give the sink another writer; to go on, bring the"
    " checkpoint back"
)


@dataclass
class Writer:
    """Who writes: a name, the start of the job, and the epoch once it is claimed."""

    name: str
    attempt: int
    memory: Memory
    checkpoint: Checkpoint
    epoch: int = field(init=False, default=0)

    @property
    def has_claimed(self) -> bool:
        """Whether this run has claimed; it does so once, also if it is superseded later."""
        return self.epoch > 0

    def claim(self) -> int:
        """Return this run's epoch."""
        if not self.has_claimed:
            self.epoch = self.memory.claim(self.attempt)
        return self.epoch

    def join(self, epoch: int) -> None:
        """Be the run that has claimed this epoch in another process."""
        self.epoch = epoch

    def known(self, batch: int) -> Decision | None:
        """Return the decision of a batch, None for the one that comes next.

        Raises `RequestError` where this checkpoint is not the one that the memory belongs to, so
        that going on would skip input or write it twice.
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
            said = "stood for other offsets" if found else "is no longer remembered"
            raise RequestError(
                f"batch {batch} {said} when writer {self.name} decided it, and batch"
                f" {newest.batch} is decided too: the checkpoint is an old copy. {_ANEW}"
            )
        return found

    def check_query(self, decision: Decision) -> None:
        """Raise `RequestError` if a decision is of another query than the checkpoint."""
        query = self.checkpoint.query()
        if decision.query != query:
            raise RequestError(
                f"writer {self.name} has decided batch {decision.batch} of query {decision.query},"
                f" and this checkpoint is of query {query}: with it all input would be written"
                f" again. {_ANEW}"
            )

    def decide(self, batch: int, parts: tuple[Part, ...] = ()) -> Decision:
        """Decide a batch as these parts, or raise if a newer run has claimed the writer."""
        checkpoint = self.checkpoint
        decision = Decision(
            batch, checkpoint.query(), checkpoint.span(batch), self.epoch, self.attempt, parts
        )
        if not self.memory.decide(decision):
            raise self.superseded(batch)
        return decision

    def superseded(self, batch: int) -> SupersededError:
        """Tell that this run is superseded, and return what it raises instead of going on."""
        fenced(batch, "a run was superseded", writer=self.name, epoch=self.epoch)
        return SupersededError(
            f"batch {batch}: a newer run than epoch {self.epoch} has claimed writer {self.name},"
            " so this one stops: let one driver at a time run on a checkpoint"
        )

    def _check_next(self, batch: int, newest: Decision) -> None:
        if batch > newest.batch + 1:
            raise RequestError(
                f"batch {batch} comes behind batch {newest.batch}, the newest that writer"
                f" {self.name} has decided: what is between them was lost in the store. {_ANEW}"
            )
        if self.checkpoint.span(batch).start != newest.span.end:
            raise RequestError(
                f"batch {batch} does not begin where writer {self.name} decided that batch"
                f" {newest.batch} ends: the checkpoint was changed. {_ANEW}"
            )


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
