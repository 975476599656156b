"""The job under test, as faults see it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from onceproof.checkpoint import log
from onceproof.checkpoint.archive import Archive
from onceproof.checkpoint.checksums import checksum_file
from onceproof.errors import StackError
from onceproof.job.attempt import Attempt, job_processes, kill_until_none
from onceproof.job.supervisor import Supervisor
from onceproof.machine.identity import Identity
from onceproof.machine.polling import comes_true, wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import by_partition
from onceproof.runs.history import History, HistoryReader
from onceproof.runs.ledger import Partition
from onceproof.runs.reads import polls
from onceproof.stacks.members.cluster import is_executor

T = TypeVar("T")
_DRIVER_COMES_WITHIN_S = 60.0
_READERS_LOOK_WITHIN_S = 10.0


@dataclass(frozen=True)
class StruckJob:
    """The processes and the commits of one run's job; all faults of a run share one."""

    run: RunDirectory
    job: str
    supervisor: Supervisor
    archive: Archive
    deaths: AbstractContextManager[Any] = field(default_factory=threading.RLock)

    def processes(self) -> list[Identity]:
        """Return its living processes, executors included."""
        return job_processes(self.job)

    def driver(self) -> list[Identity]:
        """Wait for a driver, and return its living processes."""
        return self._attempt().driver()

    def executors(self) -> list[Identity]:
        """Return the executors of living drivers, without those that outlived their driver."""
        attempts = [one for one in (self.supervisor.current, self.supervisor.rival) if one]
        found = {one: one.processes() for one in attempts if one.is_alive}
        return [
            one
            for attempt, processes in found.items()
            for one in processes
            if attempt.is_alive and is_executor(one)
        ]

    def kill_driver(self) -> list[Identity]:
        """Kill the driver, and return the killed processes."""
        with self.deaths:
            attempt = self._attempt()
            return _by_us(attempt, attempt.kill())

    def stop_driver(self) -> list[Identity]:
        """Send SIGTERM to the driver, and return the processes that ended."""
        with self.deaths:
            attempt = self._attempt()
            return _by_us(attempt, attempt.stop())

    def kill_all(self) -> list[Identity]:
        """Kill the driver and every executor before the next attempt starts; return them."""
        with self.deaths:
            attempt = self._attempt()
            with self.supervisor.starts_held:
                return _by_us(attempt, kill_until_none(self.processes, self.job))

    def start_rival(self) -> Identity:
        """Start a second driver beside the living one, and return it."""
        return self.supervisor.start_rival().leader

    def committed(self) -> int:
        """Return the newest batch in the commit log, -1 for an empty log."""
        self.archive.catch_up()
        return self.archive.newest[1]

    def let_readers_look(self) -> None:
        """Wait until a reader has looked after this call, for a limited time."""
        history, now = HistoryReader(self.run.history), History(self.run.history).last_seq()
        about = self.run.about_output

        def looked() -> bool:
            mine = [one for one in history.read_new() if one.about == about]
            return any(poll.since >= now for poll in polls(mine))

        comes_true(
            looked,
            _READERS_LOOK_WITHIN_S,
            every_s=0.1,
        )

    def newest(self) -> tuple[int, int]:
        """Return the newest batch in the offset log and in the commit log, read from the files.

        A commit counts once its checksum file exists, which is written after it, if the offsets of
        the batch have a checksum file.
        """
        folder = self.archive.checkpoint
        planned, committed = log.newest(folder)
        has_sums = {
            name: checksum_file(folder / name / str(committed)).exists()
            for name in ("offsets", "commits")
        }
        is_half = has_sums["offsets"] and not has_sums["commits"]
        return planned, committed - is_half

    def while_down(self, act: Callable[[Path], T]) -> tuple[list[Identity], T]:
        """Kill the driver, and call `act` with its checkpoint before the next attempt starts."""
        with self.deaths:
            attempt = self._attempt()
            with self.supervisor.starts_held:
                dead = _by_us(attempt, attempt.kill())
                self.archive.catch_up()
                done = act(self.archive.checkpoint)
                self.archive.accept_damage()
        return dead, done

    def planned(self) -> Mapping[Partition, int]:
        """Return the end offset of each partition in the newest batch of the offset log."""
        self.archive.catch_up()
        newest = self.archive.newest[0]
        return by_partition(self.archive.planned[newest].offsets) if newest >= 0 else {}

    def _attempt(self) -> Attempt:
        """Wait for a living attempt, and return it."""

        def living() -> Attempt | None:
            found = self.supervisor.current
            return found if found and found.is_alive else None

        return wait_for(living, _DRIVER_COMES_WITHIN_S, "no driver is started")


def _by_us(attempt: Attempt, dead: list[Identity]) -> list[Identity]:
    if attempt.leader not in dead:
        raise StackError(f"the driver of attempt {attempt.number} had ended before it was killed")
    return dead
