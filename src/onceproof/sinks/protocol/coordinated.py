"""Two-phase commit with a coordinator that ends transactions by their ids, or on its own.

A part is a transaction under an id that is never used twice, so its producer's epoch is 0 until it
is ended or taken over. The id contains the journal's mark, since a recreated journal numbers its
epochs from 1 again. A coordinator forgets transactions, and aborts them after a time-out even if
they are decided. So the journal is the primary record: the sink notes there that all parts of a
batch are committed, and until then the parts of a decision count as open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onceproof.errors import StackError
from onceproof.fencing import fenced
from onceproof.sinks.protocol import Decision, Part, Transaction
from onceproof.sinks.protocol.journal import JournalMemory

ONGOING, COMMITTED, ABORTED = "Ongoing", "CompleteCommit", "CompleteAbort"
INTACT = 0  # the epoch of an id that was initialised once and not ended


class LostError(StackError):
    """A decided part is gone and its rows are lost; an operator has to decide how to go on."""


@dataclass
class CoordinatedParts:
    """A store for two-phase commit; a transaction's id is `head`, the part's name and the mark.

    With `goes_on` a lost decided part is recorded and given up; otherwise each call raises.
    """

    coordinator: Coordinator
    memory: JournalMemory
    head: str
    writer: str
    begin: Callable[[Part], Transaction]
    goes_on: bool = False
    given_up: dict[Part, str] = field(init=False, default_factory=dict)
    _seen: dict[Part, Seen] = field(init=False, default_factory=dict)
    _ended: set[Part] = field(init=False, default_factory=set)

    def open(self) -> Sequence[Part]:
        """Return the parts that are open and intact, and decided parts not noted as committed."""
        parts = {part for one in self.memory.undone() for part in one.parts}
        return sorted(parts | self.intact().keys())

    def intact(self) -> Mapping[Part, Seen]:
        """Return the open parts of this journal; record those that were taken over as fenced."""
        found = self._unfinished().items()
        ours = {name: seen for name, seen in found if self._is_ours(name, seen)}
        self._seen = {part_of(self.head, name)[0]: seen for name, seen in ours.items()}
        return self._seen

    def taken_over(self) -> Mapping[str, Seen]:
        """Return the open transactions under this writer's ids that this journal did not begin."""
        found = self._unfinished().items()
        return {name: seen for name, seen in found if not self._is_ours(name, seen)}

    def commit(self, part: Part) -> None:
        """Make a part visible to readers; raises `LostError` if its rows are lost."""
        seen = self._seen.get(part) or self._look(part)
        if seen is None or not self._end(part, seen, commit=True):
            self._settled([part])
        self._ended.add(part)
        for decision in self.memory.state.undone():
            if part in decision.parts and self._ended >= set(decision.parts):
                self._settled(decision.parts)
                self._done(decision)

    def abort(self, part: Part) -> None:
        """Undo a part; does nothing if it is gone."""
        seen = self._seen.get(part) or self._look(part)
        if seen is not None and seen.is_intact:
            self._end(part, seen, commit=False)
            self._look(part)

    def lost(self, decision: Decision) -> list[Part]:
        """Return the parts of a decision that cannot be committed any more."""
        found = {part: self._look(part) for part in decision.parts}
        kept = {p for p, seen in found.items() if seen and (seen.is_intact or _is_committed(seen))}
        return [part for part in decision.parts if part not in kept]

    def give_up(self, decision: Decision) -> None:
        """Note a batch with lost parts as done, on an operator's request."""
        for part in set(decision.parts) - set(self.lost(decision)):
            self.commit(part)
        self._done(decision)

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        self.coordinator.close()
        self.memory.journal.close()

    def _done(self, decision: Decision) -> None:
        self._ended -= set(decision.parts)
        self.memory.note_done(decision.batch, self.memory.state.epoch)

    def _settled(self, parts: Sequence[Part]) -> None:
        found = self.coordinator.look([self._id(part) for part in parts])
        for part in parts:
            seen = found.get(self._id(part))
            if (seen is None or not _is_committed(seen)) and part not in self.given_up:
                self._lose(part, _why(part, seen))

    def _lose(self, part: Part, why: str) -> None:
        if not self.goes_on:
            raise LostError(
                f"{why}. The sink stops; run `onceproof sweep` to give up these rows and go on"
            )
        self.given_up[part] = why
        fenced(part.batch, "a decided part was lost", part=part.name, why=why)

    def _end(self, part: Part, seen: Seen, *, commit: bool) -> bool:
        if not seen.is_intact:
            return False
        name, producer = self._id(part), seen.producer
        is_ours = self.coordinator.end(name, producer, INTACT, commit=commit)
        self._seen.pop(part, None)
        return is_ours

    def _look(self, part: Part) -> Seen | None:
        return self.coordinator.look([self._id(part)]).get(self._id(part))

    def _unfinished(self) -> Mapping[str, Seen]:
        listed = self.coordinator.unfinished(f"{self.head}{self.writer}:")
        found = {name: seen for name, seen in listed.items() if is_id(self.head, name)}
        for name, seen in found.items():
            if not self._is_ours(name, seen):
                batch = part_of(self.head, name)[0].batch
                fenced(batch, "a transactional id was taken over", **_facts(name, seen))
        return found

    def _is_ours(self, name: str, seen: Seen) -> bool:
        return seen.is_intact and part_of(self.head, name)[1] == self.memory.journal.mark()

    def _id(self, part: Part) -> str:
        return id_of(self.head, part, self.memory.journal.mark())


def _is_committed(seen: Seen) -> bool:
    return seen.state == COMMITTED and seen.epoch == INTACT + 1


def _facts(name: str, seen: Seen) -> dict[str, Any]:
    return {"id": name, "state": seen.state, "epoch": seen.epoch}


def _why(part: Part, seen: Seen | None) -> str:
    if seen is not None and seen.state == ABORTED:
        problem = (
            f"was aborted by the brokers after its time-out of {seen.timeout_ms:,} ms:"
            " its rows are lost"
        )
    else:
        state = f"{seen.state} with epoch {seen.epoch}" if seen else "forgotten"
        problem = f"is {state}: the brokers cannot confirm that its rows exist"
    return f"batch {part.batch} is decided, but its transaction {part.name} {problem}"


@dataclass(frozen=True)
class Seen:
    """A coordinator's state of one transactional id."""

    state: str
    producer: int
    epoch: int
    started_ms: int = 0
    timeout_ms: int = 0

    @property
    def is_intact(self) -> bool:
        """Whether it is open and no other producer has taken it over."""
        return self.state == ONGOING and self.epoch == INTACT


class Coordinator(Protocol):
    """The component that ends transactions; any client may call any method at any time."""

    def unfinished(self, head: str) -> Mapping[str, Seen]:
        """Return the open transactions whose ids begin with `head`; waits for those ending now."""

    def look(self, names: Iterable[str]) -> Mapping[str, Seen]:
        """Return the states of the ids that are known; waits for transactions ending now."""

    def end(self, name: str, producer: int, epoch: int, *, commit: bool) -> bool:
        """End a transaction durably; returns False if this producer and epoch may not end it.

        A repeated call returns the same answer. Ending a transaction raises its epoch, so a
        producer that still writes under the old epoch is rejected.
        """

    def close(self) -> None:
        """Close the connection; the next call opens it again."""


def id_of(head: str, part: Part, mark: str) -> str:
    """Return the id of a part's transaction."""
    return f"{head}{part.name}:{mark}"


def part_of(head: str, name: str) -> tuple[Part, str]:
    """Return the part whose transaction has this id, and the mark of its journal."""
    part, _, mark = name.removeprefix(head).rpartition(":")
    return Part.of(part), mark


def is_id(head: str, name: str) -> bool:
    """Whether an id has the form of a part's; other clients may use ids with the same prefix."""
    try:
        part_of(head, name)
    except ValueError:
        return False
    return True
