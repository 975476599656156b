"""Finds an executor that is running a task, and the worker that started it.

SIGQUIT makes the executor's JVM print all its threads; the worker writes its output to the file
`stdout` in the executor's working directory.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from onceproof.errors import StackError
from onceproof.faults import Scene
from onceproof.machine.identity import PROC, Identity
from onceproof.machine.polling import comes_true, wait_for

EXECUTOR, WORKER = "executor:busy", "worker:busy"
_COMES_WITHIN_S = 60.0
_PRINTS_WITHIN_S = 5.0
_LAST_LINE = re.compile(rb"^JNI global ref.*\n", re.MULTILINE)
_THREAD = b'"Executor task launch worker'
_RUNS = b"Executor$TaskRunner.run("  # an idle thread of the pool keeps the name of its last task


def busy_executor(scene: Scene) -> Identity:
    """Wait until an executor of a living driver runs a task, and return it."""

    def look() -> Identity | None:
        living = sorted(scene.job.executors())
        scene.rng.shuffle(living)
        return next((one for one in living if _runs_a_task(one)), None)

    return wait_for(look, _COMES_WITHIN_S, "no executor of the job ran a task", every_s=0.01)


def busy_worker(scene: Scene) -> str:
    """Return the worker of the executor that waits at the failpoint, else of a busy executor."""
    above = scene.halted.ancestors() if scene.halted else []
    halted = [one for one in scene.job.executors() if one in above]
    return _worker_of(scene, halted[0] if halted else busy_executor(scene))


def _worker_of(scene: Scene, executor: Identity) -> str:
    pids = {one.pid for one in executor.ancestors()}
    for member in scene.stack.status():
        if member.kind == "worker" and member.pid in pids:
            return member.name
    raise StackError(
        f"executor {executor.pid} of the job was not started by a worker of this stack"
    )


def _runs_a_task(one: Identity) -> bool:
    """Whether the executor runs a task; False also if it ended, or printed nothing in time."""
    printed = PROC / f"{one.pid}/cwd/stdout"
    try:
        start = printed.stat().st_size
    except OSError:
        return False
    if not one.send(signal.SIGQUIT):
        return False
    found: list[bytes] = []

    def is_printed() -> bool:
        try:
            with printed.open("rb") as file:
                file.seek(start)
                found[:] = [file.read()]
        except OSError:  # it ended, and its folder was removed
            return True
        return bool(_LAST_LINE.search(found[0]))

    comes_true(is_printed, _PRINTS_WITHIN_S, every_s=0.002)
    return has_running_task(found)


def has_running_task(printed: Sequence[bytes]) -> bool:
    """Whether a thread in a JVM's printed stacks is running a task."""
    threads = b"".join(printed).split(b"\n\n")
    return any(_THREAD in one and _RUNS in one for one in threads)
