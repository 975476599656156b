"""The engine: plans a batch in the offset log, writes it, and adds it to the commit log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from onceproof.errors import OnceproofError
from onceproof.sinks.protocol import Part, Transaction
from tests.model.families import WRITER, Family, ModelSink
from tests.model.striking import Schedule, Sleepers
from tests.model.world import END, PARTITIONS, ConcurrentError, CrashError, StoreError, World

MOST_RUNS = 6


@dataclass
class Run:
    """One run of the driver, with the recovery before it and, at the end of the input, after it.

    `hold` is called with each step and its name, and may hold the run there. `error` is the
    message of the error that ended it.
    """

    world: World
    number: int
    family: Family
    schedule: Schedule
    sleepers: Sleepers
    hold: Callable[[int, str], None] | None = None
    steps: int = 0
    died_at: int = 0
    error: str = ""
    asleep: bool = False
    tasks_begun: int = 0

    def __post_init__(self) -> None:
        crashes = self.schedule.crashes
        self.died_at = crashes[self.number] if self.number < len(crashes) else 0

    def live(self, *, recovers: bool = True) -> bool:
        """Run to the end of the input, or to a crash; return whether the end was reached."""
        self.world.alive.add(self.number)
        try:
            if recovers:
                self._sink().recover()
            self._drive(self._sink())
            if self.sleepers.wake():
                self.world.woke(self.schedule.tasks, END)
            self._sink().recover()
        except (CrashError, OnceproofError) as error:
            self.error = str(error)
            return False
        finally:
            self.world.alive.discard(self.number)
        return True

    def tick(self) -> None:
        """Count a step; sleepers may wake at it, and this process may crash at it."""
        if self.asleep:  # an attempt that woke takes no steps of the driver's
            return
        self.steps += 1
        world, point = self.world, self.world.step_of(self.number)
        if self.schedule.watched:
            world.look(self.family.reads)
        self.asleep = True
        if self.sleepers.count():
            world.woke(self.schedule.tasks, point)
        self.asleep = False
        if self.hold is not None:
            self.hold(self.steps, point)
        if self.steps == self.died_at:
            world.strike("dies", point)
            world.die(power=self.schedule.power)
            raise CrashError
        if self.number == 0 and self.steps == self.schedule.fails:
            world.strike("raises", point)
            raise StoreError(f"the store did not answer at step {self.steps}")

    def _sink(self) -> ModelSink:
        return self.family.make(self.world, self.number, self.tick)

    def _drive(self, sink: ModelSink) -> None:
        disk = self.world.disk
        planned = dict(disk.offsets)  # the log is read once, at the start
        batch = max(disk.commits, default=-1) + 1
        while True:
            if batch not in planned:
                first = planned[batch - 1][1] if batch else 0
                if first >= self.world.rows:
                    return
                self.tick()
                if batch in disk.offsets:
                    raise ConcurrentError(f"offsets/{batch} is there")
                last = min(self.world.rows, first + 2 + self.number % 2)
                disk.offsets[batch] = planned[batch] = (first, last)
                self._reach("offsets_written")
            self._write(sink, batch, range(*planned[batch]))
            self.tick()
            if batch in disk.commits:
                raise ConcurrentError(f"commits/{batch} is there")
            disk.commits.add(batch)
            self._reach("commit_logged")
            batch += 1

    def _write(self, sink: ModelSink, batch: int, rows: range) -> None:
        ran: list[bool] = []

        def tasks(epoch: int) -> list[Part]:
            ran.append(True)
            shares: list[list[int]] = [[] for _ in range(PARTITIONS)]
            for row in rows:  # a replay may share them out otherwise
                shares[(row + self.number) % PARTITIONS].append(row)
            return [
                self._task(sink, Part(WRITER, epoch, self.number + 1, batch, partition, 0), share)
                for partition, share in enumerate(shares)
            ]

        sink.write(batch, tasks, lambda: ran.append(True))
        if not ran:
            self.world.violations.append(f"batch {batch} returned early in run {self.number}")

    def _task(self, sink: ModelSink, task: Part, rows: list[int]) -> Part:
        """Run a task until an attempt wins, and return its part."""
        place = (task.batch, task.partition)
        way = "" if place in self.sleepers.came else self.schedule.tasks.get(place, "")
        self.sleepers.came.add(place)
        if way in ("", "speculates", "lingers"):
            won, winner = self._attempt(sink, task, rows)
            if way == "speculates":
                self._attempt(sink, task, rows)[1].pre_commit()
            elif way == "lingers":
                self.sleepers.sleeping.append(lambda: winner.write(rows))
            return self._pre_committed(won, winner)
        self._spoiled(sink, task, rows, way)
        return self._pre_committed(*self._attempt(sink, task, rows))

    def _spoiled(self, sink: ModelSink, task: Part, rows: list[int], way: str) -> None:
        """Begin an attempt that does not win, and let it fail as scheduled."""
        if way == "dozes":
            self.tasks_begun += 1
            number = self.tasks_begun
            self.sleepers.sleeping.append(lambda: self._begun(sink, task, rows, number))
            return
        _, transaction = self._attempt(sink, task, rows)
        if way == "dies_after":
            transaction.pre_commit()
        elif way == "sleeps":
            self.sleepers.sleeping.append(transaction.pre_commit)
        elif way == "fails":
            raise StoreError(f"task {task.name} failed as often as it may")

    def _pre_committed(self, part: Part, transaction: Transaction) -> Part:
        """Pre-commit the part that wins, and report it to the driver."""
        transaction.pre_commit()
        self._reach("task_done", part)
        self.tick()
        return part

    def _attempt(self, sink: ModelSink, task: Part, rows: list[int]) -> tuple[Part, Transaction]:
        self.tasks_begun += 1
        self._reach("task_begin", task)
        begun = self._begun(sink, task, rows, self.tasks_begun)
        self._reach("task_mid", task)
        return begun

    def _begun(
        self, sink: ModelSink, task: Part, rows: list[int], number: int
    ) -> tuple[Part, Transaction]:
        part = replace(task, task=number)
        transaction = sink.begin(part)
        transaction.write(rows)
        return part, transaction

    def _reach(self, point: str, task: Part | None = None) -> None:
        of = f" {task.partition + 1}/{PARTITIONS}" if task else ""
        self.world.reach(self.number, f"{point}{of}")


def live(world: World, family: Family, schedule: Schedule, first: int = 0) -> list[int]:
    """Start runs until one ends, as a supervisor does; return the steps of each."""
    sleepers = Sleepers(schedule.wakes)
    taken = []
    for number in range(first, first + MOST_RUNS):
        run = Run(world, number, family, schedule, sleepers)
        is_over = run.live()
        taken.append(run.steps)
        if is_over:
            break
    else:
        world.violations.append(f"{MOST_RUNS} runs did not come to the end")
    if schedule.watched:
        world.look(family.reads)
    return taken
