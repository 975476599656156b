"""Run as a program, `leash PARENT COMMAND...`: become the command, and die when the parent dies.

So no driver outlives its supervisor, whatever killed that.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

HOOK = "ONCEPROOF_HOOK"  # a folder that comes first on the command's PYTHONPATH, not on ours
_PR_SET_PDEATHSIG = 1


def leashed(command: Sequence[str]) -> list[str]:
    """Return the command with a leash on it, whose parent is this process."""
    return [sys.executable, "-m", __name__, str(os.getpid()), *command]


def main(parent: int, command: list[str]) -> None:
    """Ask the kernel for the signal, look whether it came too late, and become the command."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(f"the supervisor {parent} is gone")
    if hook := os.environ.pop(HOOK, None):
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([hook, *([path] if path else [])])
    os.execvp(command[0], command)  # noqa: S606  a command of the user's own, with no shell


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
