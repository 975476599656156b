"""The protocols between a store and the sinks that record their batches in it.

This package depends neither on Spark nor on a store, so `tests.model` runs it under every crash.

A *writer* is the name under which one query writes, over all its restarts. A run that is going to
write, or to settle a crashed run, first *claims* the writer: the store numbers each claim with an
*epoch*, higher than all before it, and from then on rejects decisions of older epochs. A *part* is
the output of one attempt at one task. A *decision* durably records, once, the parts of a batch and
the span of the input that the batch covers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from onceproof.errors import RequestError, StackError, invalid

# Called with (name, batch) at every named step of a protocol, as `failpoints.reached`.
Step = Callable[[str, int], None]
_WRITER = re.compile(r"[A-Za-z0-9_.-]{1,90}")


class SupersededError(StackError):
    """A newer run has claimed the writer; this run must stop, and never claims again."""


@dataclass(frozen=True, order=True)
class Part:
    """The output of one attempt at one task of a batch; its name is never used twice.

    `attempt` is the number of the job start, `task` the task attempt's id within it.
    """

    writer: str
    epoch: int
    attempt: int
    batch: int
    partition: int
    task: int

    @property
    def name(self) -> str:
        """The part's name: at most 190 characters, without slashes or blanks."""
        numbers = (self.epoch, self.attempt, self.batch, self.partition, self.task)
        return ":".join([self.writer, *map(str, numbers)])

    @classmethod
    def of(cls, name: str) -> Part:
        """Return the part with this name; raises `ValueError` for any other text."""
        writer, *numbers = name.split(":")
        if len(numbers) != 5 or not _WRITER.fullmatch(writer):
            raise ValueError(f"{name!r} is not the name of a part")
        return cls(writer, *map(int, numbers))


@dataclass(frozen=True)
class Span:
    """The input of a batch: digests of the offsets at which it begins and ends.

    `start` is empty for the first batch.
    """

    start: str
    end: str


@dataclass(frozen=True)
class Decision:
    """The parts of a batch, the run that decided it, and the query and input that it covers."""

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
        """Return the decision that `to_json` serialized."""
        found = json.loads(text)
        parts = tuple(map(Part.of, found.pop("parts")))
        return cls(**{**found, "span": Span(**found["span"]), "parts": parts})


class Memory(Protocol):
    """A store's record of one writer; the effect of every method is durable when it returns.

    Two drivers may call any method concurrently.
    """

    def claim(self, attempt: int) -> int:
        """Claim the writer; return the new epoch. Older epochs cannot decide from then on."""

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of one batch."""

    def decide(self, decision: Decision) -> bool:
        """Record the decision atomically; return whether it was recorded.

        It is not recorded if a newer epoch was claimed, or if the batch has another decision.
        """


class Transaction(Protocol):
    """A part that its task is writing; invisible to readers until it is committed."""

    def write(self, rows: Any) -> None:
        """Write some rows (an Arrow record batch with `_batch` and `_attempt`)."""

    def pre_commit(self) -> None:
        """Make the rows so durable that `commit` cannot fail; then release the resources."""

    def abort(self) -> None:
        """Discard rows that are not pre-committed; called when a task fails, without guarantee."""


class Store(Protocol):
    """The operations that two-phase commit needs of a store, in addition to a `Memory`.

    It is pickled and sent to the executors. All methods except `begin` are called in the driver or
    in a recovery.
    """

    def begin(self, part: Part) -> Transaction:
        """Begin to write a part; called in a task."""

    def open(self) -> Sequence[Part]:
        """Return this writer's parts, of any epoch, that are pre-committed and not yet ended."""

    def commit(self, part: Part) -> None:
        """Make a part visible to readers; idempotent."""

    def abort(self, part: Part) -> None:
        """Undo a pre-committed part; idempotent. Never called for a decided part."""


class Log(Memory, Protocol):
    """The operations that a write-ahead log needs of a store; `decide` names the staged parts.

    Unlike in two-phase commit, `decide` replaces an earlier decision of the batch, unless that one
    is marked: then it records nothing.
    """

    def begin(self, part: Part) -> Transaction:
        """Begin to stage a part; called in a task, on a pickled copy."""

    def waiting(self) -> Sequence[Decision]:
        """Return the unmarked decisions, in the order of their batches."""

    def apply(
        self, decision: Decision, epoch: int, half: Callable[[], None], *, mark: bool
    ) -> bool:
        """Make a staged batch visible; with `mark`, also mark it in the same transaction.

        Does nothing and returns False if an epoch newer than `epoch` was claimed, or if the batch
        is marked. Calls `half` when half of the parts are visible.
        """

    def mark(self, decision: Decision, epoch: int) -> bool:
        """Record that a batch is applied; returns False if an epoch newer than `epoch` exists."""

    def clean(self, keep: Iterable[Part], epoch: int) -> int:
        """Remove staged parts of epochs up to `epoch`, except `keep`; return their number."""


class Checkpoint(Protocol):
    """The facts that a protocol needs from the query's checkpoint."""

    def query(self) -> str:
        """Return the query's id; a new checkpoint has a new one."""

    def span(self, batch: int) -> Span:
        """Return the input of a batch in the offset log."""

    def is_committed(self, batch: int) -> bool:
        """Whether the commit log has the batch."""


def checked_writer(name: str) -> str:
    """Return a writer's name; raises `RequestError` if the name of a part cannot contain it."""
    if not _WRITER.fullmatch(name):
        use = "1 to 90 letters, digits, dots, dashes or underscores"
        raise RequestError(invalid("writer name", name, use))
    return name
