"""A memory kept in a journal: claims and decisions are records whose order determines the state.

All readers of the journal compute the same state, so no compare-and-set is needed: a claim counts
if its epoch is higher than all before it, a decision if no higher epoch and no other decision of
its batch precedes it. A process that appended a record reads up to it to learn whether it counts.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onceproof.sinks.protocol import Decision
from onceproof.sinks.protocol.writer import KEPT

_TRIM_EVERY = 500


class Journal(Protocol):
    """Durable records in one total order, the same for all readers."""

    def append(self, text: str) -> None:
        """Append a record; raises if the outcome is unknown: the record may still appear later."""

    def read(self) -> Sequence[tuple[int, str]]:
        """Return the records that this reader has not read, each with its place.

        They include every acknowledged record, except for a reader that has never appended: that
        one may lag a moment behind.
        """

    def mark(self) -> str:
        """Return an identifier that no other journal has, not even a recreated one."""

    def trim(self, before: int) -> None:
        """Remove the records before a place if the store allows it; they are not needed."""

    def close(self) -> None:
        """Close the connections; the next call opens them again."""


@dataclass
class JournalState:
    """The state of one writer after the records read so far.

    The first records may have been trimmed, so a decision also proves that its epoch was claimed.
    With `replaces` a decision replaces an earlier one that is not done.
    """

    replaces: bool = False
    epoch: int = 0
    attempt: int = 0
    decisions: dict[int, Decision] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)  # tokens of records that count
    claimed_at: int = 0

    def add(self, place: int, text: str) -> None:
        """Update the state with one more record."""
        record = json.loads(text)
        if record["epoch"] < self.epoch or not self._counts(place, record):
            return
        self.counted.add(record["token"])
        self.epoch = record["epoch"]

    def _counts(self, place: int, record: dict[str, Any]) -> bool:
        if "claim" in record:
            if record["epoch"] == self.epoch:
                return False
            self.claimed_at, self.attempt = place, record["claim"]
            return True
        batch = record["batch"]
        if "done" in record:
            is_news = batch not in self.done
            self.done.add(batch)
            return is_news
        is_free = batch not in self.decisions or (self.replaces and batch not in self.done)
        if is_free:
            self.decisions[batch] = decision = Decision.of(record["decision"])
            self.places[batch] = place
            if not decision.parts and not self.replaces:
                self.done.add(batch)
            self._forget(max(self.decisions) - KEPT)
        return is_free

    def _forget(self, oldest: int) -> None:
        for batch in [one for one in self.decisions if one <= oldest and one in self.done]:
            del self.decisions[batch], self.places[batch]
            self.done.discard(batch)

    def undone(self) -> list[Decision]:
        """Return the decisions that are not noted as done, in the order of their batches."""
        return [self.decisions[one] for one in sorted(self.decisions) if one not in self.done]

    def oldest(self) -> int:
        """Return the place of the first record that is still needed."""
        return min(self.places.values(), default=self.claimed_at)


@dataclass
class JournalMemory:
    """The memory of one writer, in a journal of its own."""

    journal: Journal
    state: JournalState = field(default_factory=JournalState)
    _ours: bool = field(init=False, default=False)
    _trimmed: int = field(init=False, default=0)

    def claim(self, attempt: int) -> int:
        """Claim the next epoch; retry while another run claims it first."""
        self._catch_up()
        while not self._append(self.state.epoch + 1, {"claim": attempt}):
            pass
        self._ours = True
        return self.state.epoch

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        self._look()
        found = self.state.decisions
        return found[max(found)] if found else None

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of a batch."""
        self._look()
        return self.state.decisions.get(batch)

    def undone(self) -> list[Decision]:
        """Return the decisions that are not noted as done."""
        self._look()
        return self.state.undone()

    def is_undone(self, batch: int, epoch: int) -> bool:
        """Whether a batch is not noted as done and no epoch newer than `epoch` was claimed."""
        self._catch_up()
        return self.state.epoch <= epoch and batch not in self.state.done

    def decide(self, decision: Decision) -> bool:
        """Record a decision unless a newer epoch was claimed or the batch has a decision."""
        return self._append(
            decision.epoch, {"batch": decision.batch, "decision": decision.to_json()}
        )

    def note_done(self, batch: int, epoch: int) -> bool:
        """Note a batch as done unless a newer epoch was claimed or it is already noted."""
        is_noted = self._append(epoch, {"batch": batch, "done": True})
        if self.state.oldest() - self._trimmed >= _TRIM_EVERY:
            self._trimmed = self.state.oldest()
            self.journal.trim(self._trimmed)
        return is_noted

    def _append(self, epoch: int, record: dict[str, Any]) -> bool:
        token = uuid.uuid4().hex
        self.journal.append(json.dumps({"token": token, "epoch": epoch, **record}))
        self._catch_up()
        is_counted = token in self.state.counted
        self.state.counted.clear()
        return is_counted

    def _look(self) -> None:
        # a run that has claimed has read all older decisions
        if not self._ours:
            self._catch_up()

    def _catch_up(self) -> None:
        for place, text in self.journal.read():
            self.state.add(place, text)
