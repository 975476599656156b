"""Transactions, staged rows and staged files that writers have left open, for `onceproof sweep`.

`left` changes nothing. `settle` does what the next start of the job would do: it claims the writer,
which stops a job that is still running, and then commits or rolls back each item as decided.

Every sink of `SINKS` whose writers can leave something open implements `Leaves`.
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
    """The effect that settling the writer has on an open item."""

    COMMIT = "decided: will be committed"
    ROLL_BACK = "not decided: will be rolled back"
    ADD = "in the commit log: will be added"
    STAY = "not in the commit log yet: will stay"
    ASK = "staged: depends on the checkpoint"
    REMOVE = "in no decision: will be removed"
    LOST = "decided, but its rows are lost: will be given up"
    TAKEN = "begun by another client under this id: will be rolled back"


@dataclass(frozen=True)
class Left:
    """An open item of a writer; `since` is the time of its creation."""

    kind: str
    part: Part
    fate: Fate
    since: datetime | None = None


@runtime_checkable
class Leaves(Protocol):
    """The additional methods of a sink whose open items outlive their writer's process."""

    def writers(self) -> list[str]:
        """Return the writers in the target's memory; raises if the target has no memory."""

    def left(self) -> list[Left]:
        """Return the open items of the target's writer that belong to this sink."""

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:
        """Claim the writer and settle its open items; return the number of each action."""


@dataclass(frozen=True)
class Sweep:
    """A target of one store, for all of the store's sinks that may have written to it."""

    store: str
    target: Target

    def writers(self) -> list[str]:
        """Return the writers that any of the sinks has; raises if the target has no memory."""
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
        """Return a writer's open items."""
        return [one for sink in self._sinks(writer) for one in sink.left()]

    def settle(self, writer: str) -> Mapping[str, int]:
        """Claim the writer and settle its open items; return the number of each action."""
        found = [(sink, sink.left()) for sink in self._sinks(writer)]
        _refuse_open_ended(one for _, left in found for one in left)
        done: dict[str, int] = {}
        for sink, left in found:
            done |= sink.settle(left) if left else {}
        return done

    def _sinks(self, writer: str) -> Iterator[Leaves]:
        for kind in map(find_sink, SINKS):
            if kind.store == self.store:
                sink = kind(replace(self.target, writer=writer))
                if isinstance(sink, Leaves):
                    yield sink


def _refuse_open_ended(left: Iterable[Left]) -> None:
    for one in left:
        if one.fate is Fate.ASK:
            raise RequestError(
                f"batch {one.part.batch} is staged, and only the checkpoint shows whether it is"
                " committed; write --checkpoint with the query's checkpointLocation"
            )


def decided(memory: Memory, part: Part) -> Fate:
    """Return the fate of a pre-committed part."""
    decision = memory.decision(part.batch)
    is_decided = decision is not None and part in decision.parts
    return Fate.COMMIT if is_decided else Fate.ROLL_BACK


def staged(target: Target, parts: Iterable[Part], named: Container[Part]) -> list[Left]:
    """Return the staged parts of a log; parts `named` by a decision wait for the commit log."""
    checkpoint = CheckpointFolder(target.checkpoint) if target.checkpoint else None

    def fate(part: Part) -> Fate:
        if part not in named:
            return Fate.REMOVE
        if checkpoint is None:
            return Fate.ASK
        return Fate.ADD if checkpoint.is_committed(part.batch) else Fate.STAY

    return [Left("staged rows", part, fate(part)) for part in parts]


def counted(recovery: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of each action of a recovery."""
    names = {"committed": "committed", "rolled_back": "rolled back", "applied": "batches added"}
    done = {words: len(recovery[name]) for name, words in names.items() if name in recovery}
    return done | ({"staged parts removed": recovery["removed"]} if "removed" in recovery else {})
