"""Outputs: what a job of somebody else writes, as a sink that only reads it.

Nothing of ours is in such a job, so its rows tell neither batch nor attempt, no step of its
protocol is known, and what it promises is what its user says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeGuard, cast

from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.run.plan import Writes
from onceproof.sinks import Reader, Sink, Target

# What every output takes beside its own options.
DECLARED = ("guarantee", "writes")
_WRITE = {"empty": "true where it may be emptied", "partitions": "a whole number of at least 1"}


@dataclass(frozen=True)
class Place:
    """Where jobs write: how it is made ready, looked at, read and taken away.

    `called` is the option that names it where it is not the run's own, `needs` those of the others
    that must be there. `shown` is what the job is told.
    """

    store: str
    called: str
    options: tuple[str, ...]
    shown: Callable[[Target], str]
    prepare: Callable[[Target], None]
    reader: Callable[[Target], Reader]
    read: Callable[[Target, Path], tuple[int, str]]
    drop: Callable[[Target], None]
    open: Callable[[Target], tuple[int, int]] = lambda _: (0, 0)
    needs: tuple[str, ...] = ()


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
    return cast(type[Sink], type(name, (Output,), traits))


def check(name: str, at: Place, options: Mapping[str, Any]) -> None:
    """Raise `RequestError` for an option that there is not, or whose value is none."""
    known = (at.called, *at.options, *at.needs, *DECLARED)
    if strange := [one for one in options if one not in known]:
        raise RequestError(f"{name} has no option {strange[0]!r}: write one of {', '.join(known)}")
    if missing := [one for one in at.needs if one not in options]:
        raise RequestError(f"{name} needs {missing[0]}: write it beside the name")
    for one, words in (("guarantee", Guarantee), ("writes", Writes)):
        if (value := options.get(one)) is not None and value not in list(words):
            raise RequestError(f"{one} is {value!r}: write one of {', '.join(words)}")
    for one, value in options.items():
        if one not in DECLARED and not _fits(one, value):
            write = _WRITE.get(one, "a text, in quotes where it looks like a number")
            raise RequestError(f"{one} is {value!r}: write {write}")


def _fits(option: str, value: Any) -> bool:
    """Whether an option of a place has a value of its kind: all are texts but for two."""
    if option == "empty":
        return isinstance(value, bool)
    if option == "partitions":
        return isinstance(value, int) and not isinstance(value, bool) and value > 0
    return isinstance(value, str) and value != ""


def is_output(kind: Any) -> TypeGuard[type[Output]]:
    """Whether a sink is one that is only read."""
    return isinstance(kind, type) and issubclass(kind, Output)


def is_own(target: Target, at: str) -> bool:
    """Whether the place is the run's own, so that it goes with the run."""
    return at not in target.options
