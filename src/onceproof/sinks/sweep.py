"""What writers have left open in a target, for a person who is to settle it.

A look changes nothing. `settle` does what the next start of the job would: it claims the writer,
which stops a job that still runs, and ends each thing as it was decided.

Any sink of `SINKS` whose writers can leave something open has what `Leaves` says.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from onceproof.errors import RequestError
from onceproof.sinks import SINKS, Target, find_sink
from onceproof.sinks.protocol import Memory, Part
from onceproof.sinks.protocol.checkpoint_folder import CheckpointFolder


class Fate(StrEnum):
    """What becomes of a thing when its writer is settled."""

    COMMIT = "decided: will be committed"
    ROLL_BACK = "not decided: will be rolled back"
    ADD = "in the commit log: will be added"
    STAY = "not in the commit log yet: will stay"
    ASK = "named: the checkpoint says whether it counts"
    REMOVE = "named by no decision: will be removed"
    LOST = "decided, and its rows are lost: will be given up"
    TAKEN = "begun by somebody else under this id: will be rolled back"


@dataclass(frozen=True)
class Left:
    """One thing that a writer has left open; `kind` is what it is, `since` when it was made."""

    kind: str
    part: Part
    fate: Fate
    since: datetime | None = None


@runtime_checkable
class Leaves(Protocol):
    """What a sink has beside whose writers can leave things open that outlive them."""

    def writers(self) -> list[str]:
        """Return the writers that the target's memory knows; raises if it has none."""

    def left(self) -> list[Left]:
        """Return what the target's writer has left open of what this sink makes."""

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:
        """Claim the writer and end what it has left; return how many of what were done."""


@dataclass(frozen=True)
class Sweep:
    """A target of one store, whichever of the store's sinks have written to it."""

    store: str
    target: Target

    def writers(self) -> list[str]:
        """Return the writers that any of the sinks knows; raises if the target has no memory."""
        found: set[str] = set()
        refused: list[RequestError] = []
        for sink in self._sinks(""):
            try:
                found.update(sink.writers())
            except RequestError as error:
                refused.append(error)
        if refused and not found:
            raise refused[0]
        return sorted(found)

    def left(self, writer: str) -> list[Left]:
        """Return what a writer has left open."""
        return [one for sink in self._sinks(writer) for one in sink.left()]

    def settle(self, writer: str) -> Mapping[str, int]:
        """Claim the writer and end what it has left; return how many of what were done."""
        found = [(sink, sink.left()) for sink in self._sinks(writer)]
        _refuse_open_ended(one for _, left in found for one in left)
        done: dict[str, int] = {}
        for sink, left in found:
            done |= sink.settle(left) if left else {}
        return done

    def _sinks(self, writer: str) -> Iterator[Leaves]:
        """Make those of the store's sinks that can leave something open."""
        for kind in map(find_sink, SINKS):
            if kind.store == self.store:
                sink = kind(replace(self.target, writer=writer))
                if isinstance(sink, Leaves):
                    yield sink


def _refuse_open_ended(left: Iterable[Left]) -> None:
    """Raise for what only a checkpoint can tell, where none was given."""
    for one in left:
        if one.fate is Fate.ASK:
            raise RequestError(
                f"batch {one.part.batch} is staged, and its checkpoint says whether it counts:"
                " write --checkpoint with the folder that the query has as its own"
            )


def decided(memory: Memory, part: Part) -> Fate:
    """Return what becomes of a part that is pre-committed."""
    decision = memory.decision(part.batch)
    is_decided = decision is not None and part in decision.parts
    return Fate.COMMIT if is_decided else Fate.ROLL_BACK


def staged(target: Target, parts: Iterable[Part], named: Container[Part]) -> list[Left]:
    """Return the parts that a log has staged; those that decisions name wait for the commit log."""
    checkpoint = CheckpointFolder(target.checkpoint) if target.checkpoint else None

    def fate(part: Part) -> Fate:
        if part not in named:
            return Fate.REMOVE
        if checkpoint is None:
            return Fate.ASK
        return Fate.ADD if checkpoint.is_committed(part.batch) else Fate.STAY

    return [Left("staged rows", part, fate(part)) for part in parts]


def counted(told: Mapping[str, Any]) -> dict[str, int]:
    """Return what a recovery has done, in numbers."""
    names = {"committed": "committed", "rolled_back": "rolled back", "applied": "batches added"}
    done = {words: len(told[name]) for name, words in names.items() if name in told}
    return done | ({"staged parts removed": told["removed"]} if "removed" in told else {})
