"""Two drivers on one checkpoint, held and let go at chosen steps; one of them moves at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.model.engine import Run, live
from tests.model.families import Family
from tests.model.schedules import Outcome, tried
from tests.model.striking import Schedule, Sleepers
from tests.model.world import World


@dataclass
class Turns:
    """Whose turn it is: driver 0 moves to the first switch, 1 to the second, 0 to the third ...

    A switch is a count of the moving driver's own steps. Behind the last one, each moves to its
    end.
    """

    switches: tuple[int, ...]
    gates: tuple[threading.Lock, threading.Lock] = field(
        default_factory=lambda: (threading.Lock(), threading.Lock())
    )
    turn: int = 0
    over: set[int] = field(default_factory=set)

    def hold(self, driver: int, steps: int, at: str, world: World) -> None:
        """Give the turn away where this driver's next switch is, and wait for it to come back."""
        if self.turn < len(self.switches) and steps >= self.switches[self.turn]:
            world.strike(f"holds {driver}", at)
            self.turn += 1
            self._give(1 - driver)
            if 1 - driver not in self.over:
                self.gates[driver].acquire()

    def end(self, driver: int) -> None:
        """Give the turn away for good."""
        self.over.add(driver)
        self.turn += self.turn % 2 == driver
        self._give(1 - driver)

    def _give(self, driver: int) -> None:
        if driver not in self.over:
            self.gates[driver].release()


def tried_with_two(family: Family, switches: tuple[int, ...], *, recovers: bool) -> Outcome:
    """Let two drivers run in turns, then others until the end is reached.

    With `recovers` the second one recovers first.
    """
    world, sleepers, turns = World(), Sleepers(0), Turns(switches)
    for gate in turns.gates:
        gate.acquire()

    def body(number: int) -> None:
        turns.gates[number].acquire()
        try:
            run = Run(world, number, family, Schedule(), sleepers)
            run.hold = lambda steps, at: turns.hold(number, steps, at, world)
            run.live(recovers=recovers or not number)
        finally:
            turns.end(number)

    second = threading.Thread(target=body, args=(1,))
    second.start()
    turns.gates[0].release()
    body(0)
    second.join()
    live(world, family, Schedule(), first=2)
    return Outcome.of((switches, recovers), world)


def second_drivers(family: Family, every: int = 1) -> Iterator[Outcome]:
    """Start a second driver at each step of the first, and go back to that at each of its own.

    With `every` above 1 only at each so many of its own, beginning elsewhere at each first step.
    """
    (calm,) = tried(family, Schedule())[1]
    for recovers in (True, False):
        for first in range(1, calm + 1):
            for second in range(1 + first % every, calm + 1, every):
                yield tried_with_two(family, (first, second), recovers=recovers)
