"""A memory that is kept in a journal: claims and decisions are records, and their order decides.

Whoever reads the journal comes to the same result, so nothing has to be compared and set: a claim
counts if it is of a higher epoch than all before it, a decision if no higher epoch stands before
it and no other decision of its batch does. Whoever appended a record reads on until it comes to it,
and then knows whether it counts.
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
    """Records in one order, the same for all who read; what was appended is durable."""

    def append(self, text: str) -> None:
        """Append a record; raises if it is not known whether it is there. It may come late then."""

    def read(self) -> Sequence[tuple[int, str]]:
        """Return the records that this reader has not read, each with its place.

        All that anybody was told to have appended is among them, but for a reader that has not
        appended: it may be a moment behind.
        """

    def mark(self) -> str:
        """Return a word that no other journal has, nor one that is made anew in its place."""

    def trim(self, before: int) -> None:
        """Remove the records before a place, where that can be done; nobody needs them."""

    def close(self) -> None:
        """Give back what it holds; the next call opens it again."""


@dataclass
class Told:
    """What a journal has told so far of one writer.

    Records at its beginning may have been removed. So a decision tells of its epoch as well: that
    was claimed before it. With `replaces` a decision takes the place of one that is not done.
    """

    replaces: bool = False
    epoch: int = 0
    attempt: int = 0
    decisions: dict[int, Decision] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)  # tokens of records that count
    claimed_at: int = 0

    def hear(self, place: int, text: str) -> None:
        """Take one more record."""
        said = json.loads(text)
        if said["epoch"] < self.epoch or not self._counts(place, said):
            return
        self.counted.add(said["token"])
        self.epoch = said["epoch"]

    def _counts(self, place: int, said: dict[str, Any]) -> bool:
        if "claim" in said:
            if said["epoch"] == self.epoch:
                return False
            self.claimed_at, self.attempt = place, said["claim"]
            return True
        batch = said["batch"]
        if "done" in said:
            is_news = batch not in self.done
            self.done.add(batch)
            return is_news
        is_free = batch not in self.decisions or (self.replaces and batch not in self.done)
        if is_free:
            self.decisions[batch] = decision = Decision.of(said["decision"])
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
        """Return the decisions that nobody has noted as done, in the order of their batches."""
        return [self.decisions[one] for one in sorted(self.decisions) if one not in self.done]

    def oldest(self) -> int:
        """Return the place of the first record that is still needed."""
        return min(self.places.values(), default=self.claimed_at)


@dataclass
class JournalMemory:
    """The memory of one writer, in a journal of its own."""

    journal: Journal
    told: Told = field(default_factory=Told)
    _ours: bool = field(init=False, default=False)
    _trimmed: int = field(init=False, default=0)

    def claim(self, attempt: int) -> int:
        """Claim the next epoch; again where somebody else was first."""
        self._catch_up()
        while not self._append(self.told.epoch + 1, {"claim": attempt}):
            pass
        self._ours = True
        return self.told.epoch

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        self._look()
        found = self.told.decisions
        return found[max(found)] if found else None

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of a batch."""
        self._look()
        return self.told.decisions.get(batch)

    def undone(self) -> list[Decision]:
        """Return the decisions that nobody has noted as done."""
        self._look()
        return self.told.undone()

    def is_undone(self, batch: int, epoch: int) -> bool:
        """Whether a batch is not noted as done, and no epoch newer than this one was claimed."""
        self._catch_up()
        return self.told.epoch <= epoch and batch not in self.told.done

    def decide(self, decision: Decision) -> bool:
        """Decide, if no newer epoch was claimed and no other decision stands."""
        said = {"batch": decision.batch, "decision": decision.to_json()}
        return self._append(decision.epoch, said)

    def note_done(self, batch: int, epoch: int) -> bool:
        """Note that all of a batch is done; not if a newer epoch was claimed, or it is noted."""
        is_noted = self._append(epoch, {"batch": batch, "done": True})
        if self.told.oldest() - self._trimmed >= _TRIM_EVERY:
            self._trimmed = self.told.oldest()
            self.journal.trim(self._trimmed)
        return is_noted

    def _append(self, epoch: int, said: dict[str, Any]) -> bool:
        token = uuid.uuid4().hex
        self.journal.append(json.dumps({"token": token, "epoch": epoch, **said}))
        self._catch_up()
        is_counted = token in self.told.counted
        self.told.counted.clear()
        return is_counted

    def _look(self) -> None:
        """Read on, unless this run has claimed: what older ones decided it has read since then."""
        if not self._ours:
            self._catch_up()

    def _catch_up(self) -> None:
        for place, text in self.journal.read():
            self.told.hear(place, text)
