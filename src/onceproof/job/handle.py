"""Control of a run's agent by other processes: start it once, find it, end it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onceproof.documents import count, read_object
from onceproof.errors import StackError
from onceproof.job.attempt import end_job
from onceproof.machine.identity import Identity
from onceproof.machine.polling import comes_true, wait_for
from onceproof.machine.spawning import spawn
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan

_STARTS_WITHIN_S = 30.0
_ENDS_WITHIN_S = 60.0


def start_agent(run: RunDirectory, owner: Identity | None = None) -> Identity:
    """Start the agent of a run, or find the one started before, and return its process.

    An exclusive intent is written first: a second or concurrent call returns the agent of the first
    call, alive or dead, and never starts another.
    """
    run.logs.mkdir(exist_ok=True)
    try:
        os.close(os.open(run.root / "agent.intent", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        words = "the agent of an earlier call did not start"
        return wait_for(lambda: find_agent(run), _STARTS_WITHIN_S, words)
    given = [owner.pid, owner.started] if owner else []
    command = [sys.executable, "-m", "onceproof.job.agent", run.root.absolute(), *given]
    log = run.logs / "agent.log"
    child = spawn([str(word) for word in command], log=log, env=own_environment(), cwd=run.root)

    def agent() -> Identity | None:
        if (found := find_agent(run)) is None and not child.is_alive:
            raise StackError(f"the agent ended at its start: {_last_line(log)}; see {log}")
        return found

    return wait_for(agent, _STARTS_WITHIN_S, f"the agent did not start; see {log}")


def _last_line(log: Path) -> str:
    return next(iter(log.read_text(errors="replace").strip().splitlines()[-1:]), "its log is empty")


def own_environment() -> dict[str, str]:
    """Return this environment without the settings of Airflow, which hold its secrets."""
    return {name: value for name, value in os.environ.items() if "AIRFLOW" not in name}


def find_agent(run: RunDirectory) -> Identity | None:
    """Return the process of the agent, alive or dead; None if it has not started yet."""
    path = run.root / "agent.json"
    if not path.exists():
        return None
    found = read_object(path)
    return Identity(count(found, "pid", "the agent"), count(found, "started", "the agent"))


@contextmanager
def hold(run: RunDirectory) -> Iterator[None]:
    """Register this process as the agent of a run; raise `StackError` if another ever was."""
    me = Identity.of(os.getpid())
    if me is None:
        raise ProcessLookupError(os.getpid())
    part = run.root / "agent.part"
    part.write_text(json.dumps({"pid": me.pid, "started": me.started}))
    try:
        os.link(part, run.root / "agent.json")
    except FileExistsError:
        raise StackError(f"{run.root} already had an agent: a run is carried out once") from None
    finally:
        part.unlink(missing_ok=True)
    yield


def end_agent(run: RunDirectory) -> None:
    """End the agent if it lives, and kill every remaining process of the job."""
    agent = find_agent(run)
    if agent is not None:
        agent.send(signal.SIGTERM)
        comes_true(lambda: not agent.is_alive, _ENDS_WITHIN_S) or agent.send(signal.SIGKILL)
    end_job(Plan.read(run.plan).run)


def release_alone(run: RunDirectory) -> None:
    """Start the release of a run whose owner has ended, in a separate process."""
    command = [sys.executable, "-m", "onceproof", "release", str(run.root.absolute())]
    spawn(command, log=run.logs / "release.log", env=own_environment(), cwd=run.root)
