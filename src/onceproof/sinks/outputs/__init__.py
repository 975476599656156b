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
from onceproof.naming import located, whole
from onceproof.run.plan import Writes
from onceproof.sinks import OUTPUTS, Option, Reader, Sink, Target, find_sink

if TYPE_CHECKING:
    from onceproof.setup.checks import Check

# What every output takes beside its own options.
DECLARED = ("guarantee", "writes")
MAY_BE_EMPTIED = "write empty: true if it may be emptied, or leave it out for one of the run's own"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


TEXT = Option("a text, in quotes where it looks like a number", _is_text)
FOLDER = Option(TEXT.write, _is_text, whole)
FUNCTION = Option(TEXT.write, _is_text, located)
MAY_EMPTY = Option("true where it may be emptied", lambda value: isinstance(value, bool))
COUNT = Option("a whole number of at least 1", _is_count)


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
    told of it; `needs` are the options that must be there. `shown` is what the job is told.

    `example` is what people write for it to `onceproof init`; `starter` returns the lines that its
    file has beside the name. `check` is what `onceproof doctor` looks at where `called` is given.
    """

    store: str
    called: str
    example: str
    options: Mapping[str, Option]
    shown: Callable[[Target], str]
    prepare: Callable[[Target], None]
    reader: Callable[[Target], Reader]
    read: Callable[[Target, Path], tuple[int, str]]
    drop: Callable[[Target], None]
    open: Callable[[Target], tuple[int, int]] = lambda _: (0, 0)
    needs: tuple[str, ...] = ()
    check: Callable[[Target], Iterable[Check]] | None = None
    starter: Callable[[Asked], Iterable[str]] = lambda _: ()

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
        check(cls.__name__, cls.place, options)
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


def check(name: str, at: Place, options: Mapping[str, Any]) -> None:
    """Raise `RequestError` for an option that there is not, or whose value is none."""
    known = (*at.options, *DECLARED)
    if strange := [one for one in options if one not in known]:
        raise RequestError(f"{name} has no option {strange[0]!r}: write one of {', '.join(known)}")
    if missing := [one for one in at.needs if one not in options]:
        raise RequestError(f"{name} needs {missing[0]}: write it beside the name")
    for one, words in (("guarantee", Guarantee), ("writes", Writes)):
        if (value := options.get(one)) is not None and value not in list(words):
            raise RequestError(f"{one} is {value!r}: write one of {', '.join(words)}")
    for one, value in options.items():
        if one in at.options and not at.options[one].fits(value):
            raise RequestError(f"{one} is {value!r}: write {at.options[one].write}")


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
