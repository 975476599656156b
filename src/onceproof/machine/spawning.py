"""Starting of processes in their own sessions, and marks by which all descendants can be found.

The mark is the soft limit of the resident set (`ulimit -S -m`): Linux has not enforced it since
2.4.30, children inherit it, and /proc shows it to every user. A process keeps it when its parent,
session, user, title, environment or working directory changes.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onceproof.machine.identity import Identity, adopt
from onceproof.machine.polling import wait_for

_SHOWS_WITHIN_S = 10.0
_LEAST_KB = 1 << 50  # above any real memory limit, so that no real limit looks like a mark
_SET = 'ulimit -S -m "$0" && exec "$@"'


def spawn(
    argv: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path,
    run_as: Mapping[str, Any] | None = None,
) -> Identity:
    """Start a process in its own session with all standard streams redirected.

    It outlives its parent. `run_as` holds the user arguments of `subprocess`, for a program that
    refuses root. Returns when /proc shows the process's environment, by which others find it.
    """
    with log.open("ab") as out:
        child = subprocess.Popen(
            [str(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            **(run_as or {}),
        )
    found = adopt(child)
    message = f"/proc shows no environment for process {found.pid}"
    if env:
        wait_for(
            lambda: found.shows_environment or not found.is_alive,
            _SHOWS_WITHIN_S,
            message,
            every_s=0.0005,
        )
    return found


def marked(command: Sequence[str], mark: str) -> list[str]:
    """Return a command that sets the mark's limit and then execs the given command."""
    return ["/bin/sh", "-c", _SET, str(_kilobytes(mark)), *command]


def is_marked(one: Identity, mark: str) -> bool:
    """Return whether a process or one of its ancestors was started with this mark."""
    return one.rss_limit == _kilobytes(mark) << 10


def _kilobytes(mark: str) -> int:
    return _LEAST_KB + int(mark, 16) % _LEAST_KB
