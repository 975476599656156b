"""Transactions that a coordinator knows by their ids, and ends for anybody who asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from onceproof.sinks.protocol import Part

ONGOING, COMMITTED, ABORTED = "Ongoing", "CompleteCommit", "CompleteAbort"
INTACT = 0  # the epoch of an id that was initialised once and not ended


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
