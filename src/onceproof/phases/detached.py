"""A phase in a detached process, which outlives its starter.

If an orchestrator loses its worker or starts a task twice, the phase goes on and is found again.
The process is `python -m onceproof phase NAME RUN`.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Collection
from dataclasses import asdict

from onceproof.documents import count, read_object, write_whole
from onceproof.errors import StackError
from onceproof.job.attempt import kill_until_none
from onceproof.job.handle import own_environment
from onceproof.machine.identity import Identity, all_processes
from onceproof.machine.polling import comes_true
from onceproof.machine.spawning import spawn
from onceproof.phases.phase import end_of, refuse_failed
from onceproof.runs.directory import RunDirectory

# The phase that each depends on: it is done only if it ended after that one.
_AFTER = {"recompute": "process", "validate": "compare"}
_ENDS_WITHIN_S = 10.0


def start_detached(run: RunDirectory, name: str) -> Identity:
    """Start a phase in a detached process, or find a living one, and return it.

    Two processes started at the same moment are safe: they carry out the phase one after the other.
    """
    if (found := find_detached(run, name)) is not None and found.is_alive:
        return found
    for folder in (run.logs, run.processes):
        folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "onceproof", "phase", name, str(run.root.absolute())]
    log = run.logs / f"{name}.log"
    child = spawn(command, log=log, env=own_environment(), cwd=run.root)
    write_whole(run.processes / f"{name}.json", json.dumps(asdict(child)))
    return child


def find_detached(run: RunDirectory, name: str) -> Identity | None:
    """Return the process of a phase, alive or dead; None if none was started."""
    path = run.processes / f"{name}.json"
    if not path.exists():
        return None
    found = read_object(path)
    return Identity(count(found, "pid", path.name), count(found, "started", path.name))


def is_done(run: RunDirectory, name: str) -> bool:
    """Whether a phase succeeded, and ended after the phase that it depends on."""
    end = end_of(run, name)
    if end is None or not end.is_ok:
        return False
    before = end_of(run, _AFTER[name]) if name in _AFTER else None
    return before is None or before.seq < end.seq


def refuse_unfinished(run: RunDirectory, name: str) -> None:
    """Raise `StackError` if a phase whose process has ended did not succeed."""
    if (end := end_of(run, name)) is not None:
        refuse_failed(end)
    if not is_done(run, name):
        raise StackError(f"{name}: its process ended early; see {run.logs / f'{name}.log'}")


def end_all_detached(run: RunDirectory) -> None:
    """End the detached processes of a run's phases, and all processes that they started."""
    if not run.processes.is_dir():
        return
    found = [one for path in run.processes.glob("*.json") if (one := find_detached(run, path.stem))]
    living = [one for one in found if one.is_alive]
    for one in living:
        one.send(signal.SIGTERM)
    comes_true(lambda: not any(one.is_alive for one in living), _ENDS_WITHIN_S)
    end_sessions({one.pid for one in living})


def end_sessions(leaders: Collection[int]) -> None:
    """Kill the remaining processes in these processes' sessions, such as the JVM of a phase."""
    kill_until_none(lambda: [one for one in all_processes() if one.session in leaders], "a phase")
