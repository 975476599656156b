"""What goes wrong in one world: a schedule, and the attempts that it gives up without a death."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from tests.model.world import StoreError


@dataclass(frozen=True)
class Schedule:
    """What goes wrong in one world.

    `crashes` are the steps at which the runs die, one after the other; `fails` is the step of the
    first run that raises instead. `tasks` says what happens to the first attempt at a task, by
    batch and partition: `dies_before` or `dies_after` its pre-commit, `speculates` (a second one
    pre-commits too, and the first wins), `fails` (as do all others, so the query fails), `sleeps`
    before its pre-commit or `dozes` before its first row (and is replaced), or `lingers` when it
    has won. These go on at the step `wakes`, counted over all runs, else at the end: a sleeper to
    its pre-commit, the others to a row. With `power` the machine dies with a run, and with what was
    not brought to its disk. With `watched` a reader looks at each step.
    """

    crashes: tuple[int, ...] = ()
    fails: int = 0
    tasks: Mapping[tuple[int, int], str] = field(default_factory=dict)
    wakes: int = 0
    power: bool = False
    watched: bool = False


@dataclass
class Sleepers:
    """Attempts at tasks that resume at a step, counted over all runs, or after the last one."""

    wakes: int
    steps: int = 0
    sleeping: list[Callable[[], object]] = field(default_factory=list)
    came: set[tuple[int, int]] = field(default_factory=set)  # tasks whose event happened

    def count(self) -> bool:
        """Count a step of the world, and return whether an attempt woke at it."""
        self.steps += 1
        return self.steps == self.wakes and self.wake()

    def wake(self) -> bool:
        """Resume all of them; one that the store refuses ends there."""
        sleeping, self.sleeping = self.sleeping, []
        for go_on in sleeping:
            with suppress(StoreError):
                go_on()
        return bool(sleeping)
