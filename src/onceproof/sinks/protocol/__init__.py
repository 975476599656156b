"""The protocols of sinks that remember: what is said between them and a store.

Nothing here knows Spark or a store, so `tests.model` tries the same code under every crash.

A *writer* is the name under which one query writes, over all its restarts. Whoever is to write, or
to settle what a dead one left, first *claims* the writer: the store gives each claim a number, its
epoch, higher than all before it, and from then on refuses every decision of an older epoch. A
*part* is what one attempt at one task has written. A *decision* says, durably and once, which parts
are a batch, and which span of the input it stands for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from onceproof.errors import RequestError, StackError

# Told (name, batch) at every named step of a protocol; `failpoints.reached` is one.
Step = Callable[[str, int], None]
_WRITER = re.compile(r"[A-Za-z0-9_.-]{1,90}")


class SupersededError(StackError):
    """A newer run has claimed the writer: this one must stop, and never claims again."""


@dataclass(frozen=True, order=True)
class Part:
    """What one attempt at one task of a batch writes; its name is never used twice.

    `attempt` is the start of the job, `task` the number of the task's attempt within it.
    """

    writer: str
    epoch: int
    attempt: int
    batch: int
    partition: int
    task: int

    @property
    def name(self) -> str:
        """The part as one word of at most 190 letters, without a slash or a blank."""
        numbers = (self.epoch, self.attempt, self.batch, self.partition, self.task)
        return ":".join([self.writer, *map(str, numbers)])

    @classmethod
    def of(cls, name: str) -> Part:
        """Return the part that has this name; raises `ValueError` for what is no part's."""
        writer, *numbers = name.split(":")
        if len(numbers) != 5 or not _WRITER.fullmatch(writer):
            raise ValueError(f"{name!r} is no part's name")
        return cls(writer, *map(int, numbers))


@dataclass(frozen=True)
class Span:
    """The input of a batch: digests of the offsets at which it begins and ends.

    `start` is empty where nothing comes before.
    """

    start: str
    end: str


@dataclass(frozen=True)
class Decision:
    """Which parts are a batch, by whom it was decided, and what input of which query it is."""

    batch: int
    query: str
    span: Span
    epoch: int
    attempt: int
    parts: tuple[Part, ...]

    def to_json(self) -> str:
        """Return it as one line of JSON, for stores that keep text."""
        return json.dumps({**asdict(self), "parts": [part.name for part in self.parts]})

    @classmethod
    def of(cls, text: str) -> Decision:
        """Return what `to_json` was made of."""
        found = json.loads(text)
        parts = tuple(map(Part.of, found.pop("parts")))
        return cls(**{**found, "span": Span(**found["span"]), "parts": parts})


class Memory(Protocol):
    """What a store remembers of one writer; every method is durable when it returns.

    Any method may be called by two drivers at once.
    """

    def claim(self, attempt: int) -> int:
        """Claim the writer and return the claim's epoch; no older one decides from then on."""

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of one batch."""

    def decide(self, decision: Decision) -> bool:
        """Decide, and say whether that was done; all or nothing.

        Not done if a newer epoch was claimed, or if another decision of the batch stands.
        """


class Transaction(Protocol):
    """One part being written by its task; nobody reads it before it is committed."""

    def write(self, rows: Any) -> None:
        """Write some rows (an Arrow record batch with `_batch` and `_attempt`)."""

    def pre_commit(self) -> None:
        """Make all that was written so durable that `commit` cannot fail; then let go of it."""

    def abort(self) -> None:
        """Give up what is not pre-committed; called where the task fails, and may be left out."""


class Store(Protocol):
    """What a store gives to two-phase commit, beside a `Memory`.

    It is sent to the executors, so it is pickled; everything but `begin` is called in the driver,
    or in whoever recovers.
    """

    def begin(self, part: Part) -> Transaction:
        """Begin to write a part; called in a task."""

    def open(self) -> Sequence[Part]:
        """Return the parts of this writer, of any epoch, that are pre-committed and not ended."""

    def commit(self, part: Part) -> None:
        """Let readers see a part; one that was committed already stays so."""

    def abort(self, part: Part) -> None:
        """Undo a part that is pre-committed; one that is gone already stays so.

        Never called for a part that is decided.
        """


class Log(Memory, Protocol):
    """What a store gives to a write-ahead log; `decide` says which parts are staged.

    Unlike that of two-phase commit, `decide` here takes the place of an earlier decision of the
    batch, unless that is marked: then it is not done.
    """

    def begin(self, part: Part) -> Transaction:
        """Begin to stage a part; called in a task, on a pickled copy."""

    def waiting(self) -> Sequence[Decision]:
        """Return the decisions that are not marked, in the order of their batches."""

    def apply(
        self, decision: Decision, epoch: int, half: Callable[[], None], *, mark: bool
    ) -> bool:
        """Put a staged batch where readers see it, with `mark` and its mark in one transaction.

        Not done, and said so, if an epoch newer than `epoch` was claimed or the batch is marked.
        `half` is called when half of the effect is made.
        """

    def mark(self, decision: Decision, epoch: int) -> bool:
        """Remember that a batch is applied; not done if an epoch newer than `epoch` was claimed."""

    def clean(self, keep: Iterable[Part], epoch: int) -> int:
        """Remove staged parts of epochs up to this one, but those to keep; return how many."""


class Checkpoint(Protocol):
    """What a protocol asks of the checkpoint that the query writes."""

    def query(self) -> str:
        """Return the query's id, which is lost with the checkpoint."""

    def span(self, batch: int) -> Span:
        """Return what a batch of the offset log stands for."""

    def is_committed(self, batch: int) -> bool:
        """Whether the commit log has the batch."""


def checked_writer(name: str) -> str:
    """Return a writer's name, or raise for one that cannot be a part of a part's name."""
    if not _WRITER.fullmatch(name):
        raise RequestError(
            f"writer {name!r} cannot be: write 1 to 90 letters, digits, dots, dashes or underscores"
        )
    return name
