"""Outputs: what a job of somebody else writes, as a sink that only reads it.

Nothing of ours is in such a job, so its rows tell neither batch nor attempt, no step of its
protocol is known, and what it promises is what its user says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, cast

from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.runs.plan import Writes
from onceproof.schema.kinds import NONEMPTY, TRUTH, Field, Shape, Word, read_given
from onceproof.schema.values import Item
from onceproof.sinks import OUTPUTS, Reader, Sink, Target, find_sink

if TYPE_CHECKING:
    from onceproof.setup.checks import Check

MAY_BE_EMPTIED = "write empty: true if it may be emptied, or leave it out for one of the run's own"


@dataclass(frozen=True)
class Located:
    """A text that names a file of the user's.

    `in_folder` returns the name, as a file in a folder has it, as one that holds in any folder.
    """

    in_folder: Callable[[str, str], str]

    def read(self, item: Item) -> Any:
        """Return the text as it stands."""
        return NONEMPTY.read(item)

    def schema(self) -> dict[str, Any]:
        """Return a text."""
        return NONEMPTY.schema()


EMPTY = Field(TRUTH, "whether it may be emptied before a run", None)
# What every output takes beside its own options.
_DECLARED = {
    "guarantee": Field(
        Word(tuple(one.value for one in Guarantee)), "what the job promises for it", None
    ),
    "writes": Field(Word(tuple(one.value for one in Writes)), "how its rows come to be", None),
}


@dataclass(frozen=True)
class Asked:
    """An output as `onceproof init` was told of it, for a scenario that is to stand in `folder`.

    `is_own` says that the job's command is told where to write, so that a run has one of its own.
    """

    at: str
    key: Sequence[str]
    folder: Path
    is_own: bool


@dataclass(frozen=True)
class Place:
    """Where jobs write: how it is made ready, looked at, read and taken away.

    `called` is the option that names it where it is not the run's own, empty where jobs are not
    told of it. `shown` is what the job is told.

    `example` is what people write for it to `onceproof init`; `starter` returns the lines that its
    file has beside the name. `check` is what `onceproof doctor` looks at where `called` is given.
    """

    store: str
    called: str
    example: str
    options: Mapping[str, Field]
    shown: Callable[[Target], str]
    prepare: Callable[[Target], None]
    reader: Callable[[Target], Reader]
    read: Callable[[Target, Path], tuple[int, str]]
    drop: Callable[[Target], None]
    open: Callable[[Target], tuple[int, int]] = lambda _: (0, 0)
    check: Callable[[Target], Iterable[Check]] | None = None
    starter: Callable[[Asked], Iterable[str]] = lambda _: ()

    @property
    def shape(self) -> Shape:
        """What stands beside the output's name."""
        return Shape({**self.options, **_DECLARED})

    def is_named(self, options: Mapping[str, Any]) -> bool:
        """Whether options name a place of the user's, rather than leave the run its own."""
        return self.called in options


@dataclass(frozen=True)
class Output:
    """What is written to a place, for readers; what it declares stands in a class made for it."""

    target: Target

    place: ClassVar[Place]
    store: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    writes: ClassVar[Writes]
    family = "output"
    atomic_batches = False
    ordered = False
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = ()

    @classmethod
    def declaring(cls, options: Mapping[str, Any]) -> type[Sink]:
        """Return this sink with what a user says of it, or raise for what nobody can say."""
        read_given(cls.__name__, cls.place.shape, options)
        return output(cls.__name__, cls.place, options)

    def prepare(self) -> None:
        """Make the place ready."""
        self.place.prepare(self.target)

    def write(self, frame: Any, batch: int) -> None:  # noqa: ARG002
        """Raise: the job writes."""
        raise RequestError(f"{self.target.name} is only read: batch {batch} is the job's to write")

    def recover(self) -> Mapping[str, Any]:
        """Nothing is settled: what a dead attempt left is the job's to mend."""
        return {}

    def open(self) -> tuple[int, int]:
        """Return what readers cannot see yet, where the place can tell."""
        return self.place.open(self.target)

    def reader(self) -> Reader:
        """Return somebody who looks at the place again and again."""
        return self.place.reader(self.target)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write all that readers see now."""
        return self.place.read(self.target, folder)

    def drop(self) -> None:
        """Remove what the run made."""
        self.place.drop(self.target)


def output(name: str, place: Place, options: Mapping[str, Any] = {}) -> type[Sink]:
    """Return the sink that reads a place, and declares what the options say.

    A class, as all sinks are, since traits are asked before there is a target.
    """
    traits = {
        "place": place,
        "store": place.store,
        "guarantee": Guarantee(options.get("guarantee", Guarantee.EXACTLY_ONCE)),
        "writes": Writes(options.get("writes", Writes.APPEND)),
    }
    return cast("type[Sink]", type(name, (Output,), traits))


def place_of(name: str) -> Place:
    """Return the place that one of `OUTPUTS` reads."""
    kind = find_sink(name)
    if not is_output(kind):
        raise RequestError(f"{name} is no output: write one of {', '.join(OUTPUTS)}")
    return kind.place


def is_output(kind: Any) -> TypeGuard[type[Output]]:
    """Whether a sink is one that is only read."""
    return isinstance(kind, type) and issubclass(kind, Output)


def is_elsewhere(kind: Any, options: Mapping[str, Any]) -> bool:
    """Whether a sink writes files in a folder of the user's."""
    return is_output(kind) and kind.store == "files" and kind.place.is_named(options)


def is_own(target: Target, at: str) -> bool:
    """Whether the place is the run's own, so that it goes with the run."""
    return at not in target.options
