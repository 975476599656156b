"""Two-phase commit where a coordinator ends transactions by their ids, and may end them by itself.

A part is a transaction under an id that is never used twice, so its producer's epoch is 0 until it
is ended or taken over. The journal's mark is in the id, since one that is made anew counts anew. A
coordinator forgets, and one whose time-out has passed it aborts, decided or not. So what it says is
the second witness: the first is the journal, where the sink notes that all parts of a batch are
committed. Until then the parts of a decision count as open.
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
    """A decided part is gone: its rows are lost, and somebody has to know."""


@dataclass
class CoordinatedParts:
    """A store of two-phase commit; `head` stands before the part's name in its id.

    With `goes_on` a decided part that is gone is told and given up; else it raises, each time.
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
        """Return what is open and intact, and what is decided and not known to be committed."""
        parts = {part for one in self.memory.undone() for part in one.parts}
        return sorted(parts | self.intact().keys())

    def intact(self) -> Mapping[Part, Seen]:
        """Return what is open; what somebody has taken over is not ours, and is told."""
        found = self._unfinished().items()
        ours = {name: seen for name, seen in found if self._is_ours(name, seen)}
        self._seen = {part_of(self.head, name)[0]: seen for name, seen in ours.items()}
        return self._seen

    def taken_over(self) -> Mapping[str, Seen]:
        """Return what is open under ids of ours, and was not begun under this journal."""
        found = self._unfinished().items()
        return {name: seen for name, seen in found if not self._is_ours(name, seen)}

    def commit(self, part: Part) -> None:
        """Let readers see a part; raises `LostError` where that cannot be any more."""
        seen = self._seen.get(part) or self._look(part)
        if seen is None or not self._end(part, seen, commit=True):
            self._settled([part])
        self._ended.add(part)
        for decision in self.memory.told.undone():
            if part in decision.parts and self._ended >= set(decision.parts):
                self._settled(decision.parts)
                self._done(decision)

    def abort(self, part: Part) -> None:
        """Undo a part; one that is gone stays so."""
        seen = self._seen.get(part) or self._look(part)
        if seen is not None and seen.is_intact:
            self._end(part, seen, commit=False)
            self._look(part)

    def lost(self, decision: Decision) -> list[Part]:
        """Return the parts of a decision that can never be committed."""
        found = {part: self._look(part) for part in decision.parts}
        kept = {p for p, seen in found.items() if seen and (seen.is_intact or _is_committed(seen))}
        return [part for part in decision.parts if part not in kept]

    def give_up(self, decision: Decision) -> None:
        """Note a batch as done of which parts are lost: somebody knows, and goes on."""
        for part in set(decision.parts) - set(self.lost(decision)):
            self.commit(part)
        self._done(decision)

    def close(self) -> None:
        """Give back what it holds; the next call opens it again."""
        self.coordinator.close()
        self.memory.journal.close()

    def _done(self, decision: Decision) -> None:
        self._ended -= set(decision.parts)
        self.memory.note_done(decision.batch, self.memory.told.epoch)

    def _settled(self, parts: Sequence[Part]) -> None:
        """Make sure that readers see the parts, or raise."""
        found = self.coordinator.look([self._id(part) for part in parts])
        for part in parts:
            seen = found.get(self._id(part))
            if (seen is None or not _is_committed(seen)) and part not in self.given_up:
                self._lose(part, _why(part, seen))

    def _lose(self, part: Part, why: str) -> None:
        if not self.goes_on:
            raise LostError(
                f"{why}. Nothing more is written before somebody has told `onceproof sweep` to go"
                " on without them"
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
                fenced(batch, "an id of ours was taken over", **_facts(name, seen))
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
        said = (
            f"was aborted by the brokers when its time-out of {seen.timeout_ms:,} ms had passed:"
            " its rows are lost"
        )
    else:
        known = f"{seen.state} with epoch {seen.epoch}" if seen else "forgotten"
        said = f"is {known}: whether its rows are there the brokers cannot say"
    return f"batch {part.batch} is decided, and its transaction {part.name} {said}"


@dataclass(frozen=True)
class Seen:
    """What a coordinator knows of one id."""

    state: str
    producer: int
    epoch: int
    started_ms: int = 0
    timeout_ms: int = 0

    @property
    def is_intact(self) -> bool:
        """Whether it is open and nobody has taken it over."""
        return self.state == ONGOING and self.epoch == INTACT


class Coordinator(Protocol):
    """What ends transactions; all of it may be asked by anybody, at any time."""

    def unfinished(self, head: str) -> Mapping[str, Seen]:
        """Return all that is open and whose id begins so; waits for what is just being ended."""

    def look(self, names: Iterable[str]) -> Mapping[str, Seen]:
        """Return what is known of ids; one that is not is left out. Waits for what is ending."""

    def end(self, name: str, producer: int, epoch: int, *, commit: bool) -> bool:
        """End a transaction, durably when it returns; False if it is not that one's to end.

        It may be repeated with the same answer. Ending it raises its epoch, so whoever still
        writes under the old one is refused.
        """

    def close(self) -> None:
        """Give back what it holds; the next question opens it again."""


def id_of(head: str, part: Part, mark: str) -> str:
    """Return the id of a part's transaction."""
    return f"{head}{part.name}:{mark}"


def part_of(head: str, name: str) -> tuple[Part, str]:
    """Return the part whose transaction has this id, and the mark of its journal."""
    part, _, mark = name.removeprefix(head).rpartition(":")
    return Part.of(part), mark


def is_id(head: str, name: str) -> bool:
    """Whether an id is one of ours; anybody may begin theirs as we do."""
    try:
        part_of(head, name)
    except ValueError:
        return False
    return True
