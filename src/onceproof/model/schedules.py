"""Every schedule of a kind, tried one after the other, each in a world of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from onceproof.model.engine import PARTITIONS, Schedule, live
from onceproof.model.families import Family
from onceproof.model.world import World

WAYS = ("dies_before", "dies_after", "speculates", "fails")


@dataclass(frozen=True)
class Outcome:
    """What came of one schedule."""

    schedule: object
    lost: int
    duplicated: int
    left: int
    violations: tuple[str, ...]

    @classmethod
    def of(cls, schedule: object, world: World) -> Outcome:
        """Return what is to be seen in a world at its end."""
        left = len(world.open) + len(world.staged)
        return cls(schedule, world.lost, world.duplicated, left, tuple(world.violations))

    @property
    def is_exact(self) -> bool:
        """Whether every row is there once, nothing is left, and nothing forbidden was done."""
        return not (self.lost or self.duplicated or self.left or self.violations)


def tried(family: Family, schedule: Schedule) -> tuple[Outcome, list[int]]:
    """Try a schedule, and return beside its outcome how many steps each run took."""
    world = World()
    taken = live(world, family, schedule)
    return Outcome.of(schedule, world), taken


def single_crashes(family: Family) -> Iterator[Outcome]:
    """Try a crash at each step, and none."""
    (calm,) = tried(family, Schedule())[1]
    for at in range(calm + 1):
        yield tried(family, Schedule((at,)))[0]


def pairs_of_crashes(family: Family) -> Iterator[Outcome]:
    """Try each crash with each one of the run after it, that of its recovery included."""
    (calm,) = tried(family, Schedule())[1]
    for first in range(1, calm + 1):
        after = tried(family, Schedule((first,)))[1][1]
        for second in range(1, after + 1):
            yield tried(family, Schedule((first, second)))[0]


def failures(family: Family) -> Iterator[Outcome]:
    """Let each step raise in place of being done, so that handlers run, then each crash."""
    (calm,) = tried(family, Schedule())[1]
    for fails in range(1, calm + 1):
        after = tried(family, Schedule(fails=fails))[1][1]
        for second in range(after + 1):
            yield tried(family, Schedule((0, second), fails=fails))[0]


def attempts_at_tasks(family: Family) -> Iterator[Outcome]:
    """Let each task go each way, with a crash at each step."""
    (calm,) = tried(family, Schedule())[1]
    for way, task in product(WAYS, _tasks()):
        for first in range(calm + 1):
            yield tried(family, Schedule((first,), tasks={task: way}))[0]


def sleeping_attempts(family: Family) -> Iterator[Outcome]:
    """Give up an attempt at each task, that wakes at each later step, or after the last."""
    (calm,) = tried(family, Schedule())[1]
    for task, first in product(_tasks(), range(calm + 1)):
        sleeps = {task: "sleeps"}
        steps = sum(tried(family, Schedule((first,), tasks=sleeps))[1])
        for wakes in range(0, steps + 1, 1 if first % 4 == 0 else 5):
            yield tried(family, Schedule((first,), tasks=sleeps, wakes=wakes))[0]


def _tasks() -> Iterator[tuple[int, int]]:
    return product(range(2), range(PARTITIONS))
