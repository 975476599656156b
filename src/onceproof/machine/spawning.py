"""Processes that are started here: each in a session of its own, known to others at once."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onceproof.machine.identity import Identity, adopt
from onceproof.machine.polling import wait_for

_SHOWS_WITHIN_S = 10.0


def spawn(
    argv: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path,
    run_as: Mapping[str, Any] | None = None,
) -> Identity:
    """Start a process in a session of its own, all of its standard streams redirected.

    It outlives its parent. `run_as` holds the user arguments of `subprocess`, for a program that
    refuses root. It returns when the process shows its environment, by which others know it.
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
    words = f"process {found.pid} shows no environment"
    if env:
        wait_for(
            lambda: found.shows_environment or not found.is_alive,
            _SHOWS_WITHIN_S,
            words,
            every_s=0.0005,
        )
    return found
