"""Every schedule of a kind, tried one after the other, each in a world of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tests.model.engine import live
from tests.model.families import Family
from tests.model.striking import Schedule
from tests.model.world import END, PARTITIONS, World

WAYS = ("dies_before", "dies_after", "speculates", "fails")


@dataclass(frozen=True)
class Outcome:
    """What came of one schedule."""

    schedule: object
    lost: int
    duplicated: int
    changed: int
    stuck: int
    taken_back: int
    left: int
    violations: tuple[str, ...]
    struck: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, schedule: object, world: World) -> Outcome:
        """Return what is to be seen in a world at its end."""
        left = len(world.open) + len(world.staged)
        wrong = (world.lost, world.duplicated, world.changed, world.stuck, world.taken_back, left)
        return cls(schedule, *wrong, tuple(world.violations), tuple(world.struck))

    @property
    def is_exact(self) -> bool:
        """Whether every row is there once, nothing is left, and nothing forbidden was done."""
        wrong = (self.lost, self.duplicated, self.changed, self.stuck, self.taken_back, self.left)
        return not (any(wrong) or self.violations)

    def point(self, how: str) -> str:
        """Return the step at which the first of this kind struck."""
        return next((point for one, point in self.struck if one == how), "")


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


def power_cuts(family: Family) -> Iterator[Outcome]:
    """Let the machine die at each step."""
    (calm,) = tried(family, Schedule())[1]
    for at in range(1, calm + 1):
        yield tried(family, Schedule((at,), power=True))[0]


def watched_crashes(family: Family) -> Iterator[Outcome]:
    """Try a crash at each step, and none, under the eyes of a reader."""
    (calm,) = tried(family, Schedule())[1]
    for at in range(calm + 1):
        yield tried(family, Schedule((at,), watched=True))[0]


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


def sleeping_attempts(family: Family, *, dies: bool = True) -> Iterator[Outcome]:
    """Give up an attempt at each task, that wakes at each later step, or after the last.

    With `dies` together with each crash.
    """
    return _sleeping(family, "sleeps", dies=dies)


def dozing_attempts(family: Family) -> Iterator[Outcome]:
    """Without a crash, of attempts that have not come to their first row, and die behind it."""
    return _sleeping(family, "dozes", dies=False)


def lingering_attempts(family: Family) -> Iterator[Outcome]:
    """Without a crash, of attempts that have won, and write again when their batch is over."""
    for one in _sleeping(family, "lingers", dies=False):
        if one.point("wakes") in ("behind its batch", "behind a later batch", END):
            yield one


def _sleeping(family: Family, way: str, *, dies: bool) -> Iterator[Outcome]:
    (calm,) = tried(family, Schedule())[1]
    for task, first in product(_tasks(), range(calm + 1 if dies else 1)):
        sleeps = {task: way}
        steps = sum(tried(family, Schedule((first,), tasks=sleeps))[1])
        for wakes in range(0, steps + 1, 1 if first % 8 == 0 else 7):
            yield tried(family, Schedule((first,), tasks=sleeps, wakes=wakes))[0]


def _tasks() -> Iterator[tuple[int, int]]:
    return product(range(2), range(PARTITIONS))
