"""Outputs: the results of users' own jobs, as sinks that are only read.

Such a job contains no Onceproof code, so its rows have neither batch nor attempt, the steps of its
protocol are unknown, and its guarantee is the one that the user declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, cast

from onceproof.errors import RequestError, unknown
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

    `in_folder` resolves a name relative to a folder, so that it is valid in any folder.
    """

    in_folder: Callable[[Any, str], Any]

    def read(self, item: Item) -> Any:
        """Return the text unchanged."""
        return NONEMPTY.read(item)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a non-empty text."""
        return NONEMPTY.schema()


EMPTY = Field(TRUTH, "whether it may be emptied before a run", None)
# The options of every output, in addition to its own.
_DECLARED = {
    "guarantee": Field(
        Word(tuple(one.value for one in Guarantee)), "the job's guarantee for it", None
    ),
    "writes": Field(Word(tuple(one.value for one in Writes)), "how the job writes its rows", None),
}


@dataclass(frozen=True)
class InitOutput:
    """The output that a user named to `onceproof init`, for a scenario in `folder`.

    `is_own` means that the job's command receives its output, so each run has an output of its own.
    """

    at: str
    key: Sequence[str]
    folder: Path
    is_own: bool


@dataclass(frozen=True)
class Place:
    """A kind of place that jobs write to, with the functions to prepare, poll, read and remove it.

    `named_by` is the option that names a user's own place, empty if jobs do not receive the place.
    `location` returns the text that the job receives.

    `read_all` writes the visible rows with all of their columns; left out: `read` does.

    `example` is the argument in the help of `onceproof init`; `starter` returns further lines of
    the scenario file. `check` is run by `onceproof doctor` if the option `named_by` is given.
    """

    store: str
    named_by: str
    example: str
    options: Mapping[str, Field]
    location: Callable[[Target], str]
    prepare: Callable[[Target], None]
    reader: Callable[[Target], Reader]
    read: Callable[[Target, Path], tuple[int, str]]
    drop: Callable[[Target], None]
    open: Callable[[Target], tuple[int, int]] = lambda _: (0, 0)
    check: Callable[[Target], Iterable[Check]] | None = None
    read_all: Callable[[Target, Path], object] | None = None
    starter: Callable[[InitOutput], Iterable[str]] = lambda _: ()

    @property
    def shape(self) -> Shape:
        """The options beside the output's name."""
        return Shape({**self.options, **_DECLARED})

    def is_named(self, options: Mapping[str, Any]) -> bool:
        """Whether the options name a place of the user's instead of one of the run's own."""
        return self.named_by in options


@dataclass(frozen=True)
class Output:
    """A sink that reads a place; `output` creates a subclass with the declared traits."""

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
        """Return this sink with the traits that the options declare; raises for invalid options."""
        read_given(cls.__name__, cls.place.shape, options)
        return output(cls.__name__, cls.place, options)

    def prepare(self) -> None:
        """Prepare the place."""
        self.place.prepare(self.target)

    def write(self, frame: Any, batch: int) -> None:  # noqa: ARG002
        """Raise `RequestError`: only the job writes."""
        raise RequestError(f"{self.target.name} is read-only here; the job writes batch {batch}")

    def recover(self) -> Mapping[str, Any]:
        """Return an empty mapping: the job itself settles its crashed attempts."""
        return {}

    def open(self) -> tuple[int, int]:
        """Return the open transactions and hidden rows, (0, 0) if the place cannot list them."""
        return self.place.open(self.target)

    def reader(self) -> Reader:
        """Return a reader that polls the place."""
        return self.place.reader(self.target)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write all visible rows."""
        return self.place.read(self.target, folder)

    def read_all(self, folder: Path) -> None:
        """Write all visible rows with all of their columns, not only those of the target."""
        (self.place.read_all or self.place.read)(self.target, folder)

    def drop(self) -> None:
        """Remove everything that the run created."""
        self.place.drop(self.target)


def output(name: str, place: Place, options: Mapping[str, Any] = {}) -> type[Sink]:
    """Return a sink class that reads a place, with the traits that the options declare.

    The traits are attributes of a class because they are needed before there is a target.
    """
    traits = {
        "place": place,
        "store": place.store,
        "guarantee": Guarantee(options.get("guarantee", Guarantee.EXACTLY_ONCE)),
        "writes": Writes(options.get("writes", Writes.APPEND)),
    }
    return cast("type[Sink]", type(name, (Output,), traits))


def place_of(name: str) -> Place:
    """Return the place of one of `OUTPUTS`."""
    kind = find_sink(name)
    if not is_output(kind):
        raise RequestError(unknown("output", name, OUTPUTS))
    return kind.place


def is_output(kind: Any) -> TypeGuard[type[Output]]:
    """Whether a sink is only read."""
    return isinstance(kind, type) and issubclass(kind, Output)


def is_elsewhere(kind: Any, options: Mapping[str, Any]) -> bool:
    """Whether a sink's files are in a folder of the user's."""
    return is_output(kind) and kind.store == "files" and kind.place.is_named(options)


def is_own(target: Target, at: str) -> bool:
    """Whether the place belongs to the run, and is removed with it."""
    return at not in target.options
