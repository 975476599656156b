"""An attempt: one start of the job, with its command, environment and processes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.job.last_error import last_error
from onceproof.machine.identity import Identity, all_processes
from onceproof.machine.leash import leashed
from onceproof.machine.polling import comes_true, wait_for
from onceproof.machine.spawning import spawn
from onceproof.stacks.links.sources import JOB
from onceproof.variables import hide

ATTEMPT = "ONCEPROOF_ATTEMPT"
_DIES_WITHIN_S = 30.0
_ENDS_WITHIN_S = 10.0
_TAIL_BYTES = 20_000
_FOLLOWS_WITHIN_S = 2.0  # executors follow their driver by themselves


@dataclass(frozen=True)
class Attempt:
    """A driver: the process that was started, which leads its own session.

    `hidden` maps the names of the secrets that it was started with to their values.
    """

    number: int
    job: str
    leader: Identity
    log: Path | None = None
    hidden: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def last_error(self) -> str:
        """The last error in its log, empty without a log."""
        if self.log is None or not self.log.exists():
            return ""
        tail = self.log.read_bytes()[-_TAIL_BYTES:]
        return last_error(hide(tail.decode(errors="replace"), self.hidden).encode())

    def driver(self) -> list[Identity]:
        """Return the living processes of the driver's session, including its JVM."""
        return [one for one in self.processes() if one.session == self.leader.pid]

    def processes(self) -> list[Identity]:
        """Return the living processes of the attempt, executors included."""
        number = str(self.number)
        return [one for one in job_processes(self.job) if one.has_environment(ATTEMPT, number)]

    @property
    def is_alive(self) -> bool:
        """Whether the started process lives; its JVM may outlive it for a second."""
        return self.leader.is_alive

    @property
    def exit_code(self) -> int | None:
        """The exit code of the started process, None while it lives."""
        return self.leader.exit_code

    def kill(self) -> list[Identity]:
        """Kill all processes of the driver at once, and return them when all are dead."""
        return kill_until_none(self.driver, f"the driver of attempt {self.number}")

    def stop(self) -> list[Identity]:
        """Send SIGTERM to the driver, and return its processes when all have ended."""
        asked = self.driver()
        self.leader.send(signal.SIGTERM)
        words = f"the driver of attempt {self.number} does not end"
        wait_for(lambda: not any(one.is_alive for one in asked), _DIES_WITHIN_S, words)
        return asked

    def end(self) -> None:
        """Send SIGTERM to the driver, then kill its processes and executors that remain."""
        self.leader.send(signal.SIGTERM)
        comes_true(lambda: not self.is_alive, _ENDS_WITHIN_S)
        try:
            _end(self.processes, f"attempt {self.number} of {self.job}")
        finally:
            self._hide_secrets()

    def _hide_secrets(self) -> None:
        """Replace secrets in the log by their names; the job may have printed their values."""
        if self.log is None or not self.hidden or not self.log.exists():
            return
        text = self.log.read_text(encoding="utf-8", errors="surrogateescape")
        if (hidden := hide(text, self.hidden)) != text:
            self.log.write_text(hidden, encoding="utf-8", errors="surrogateescape")


def start(
    number: int,
    job: str,
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    hidden: Mapping[str, str] | None = None,
) -> Attempt:
    """Start an attempt of the job; it dies with the calling process."""
    marks = {JOB: job, ATTEMPT: str(number)}
    try:
        leader = spawn(leashed(command), log=log, env={**env, **marks}, cwd=cwd)
    except OSError as error:
        reason = f"cannot start '{command[0]}': {error.strerror}; use an executable program"
        raise RequestError(hide(reason, hidden or {})) from None
    return Attempt(number, job, leader, log, hidden or {})


def job_processes(job: str) -> list[Identity]:
    """Return every living process of a run's job in any attempt, executors included."""
    return [one for one in all_processes() if one.has_environment(JOB, job)]


def end_job(job: str) -> None:
    """Kill every process of a run's job, and return when all are dead."""
    _end(lambda: job_processes(job), job)


def _end(processes: Callable[[], Collection[Identity]], whose: str) -> None:
    if not comes_true(lambda: not processes(), _FOLLOWS_WITHIN_S):
        kill_until_none(processes, whose)


def kill_until_none(processes: Callable[[], Collection[Identity]], whose: str) -> list[Identity]:
    """Kill the processes that a function finds until it finds none; return those killed."""
    struck: dict[Identity, None] = {}

    def all_dead() -> bool:
        living = processes()
        struck.update((one, None) for one in living if one.send(signal.SIGKILL))
        return not living

    wait_for(all_dead, _DIES_WITHIN_S, f"processes of {whose} do not end")
    return list(struck)
