"""A launcher that ties a command's life to its parent: `leash PARENT COMMAND...`.

It makes the kernel kill the command when the parent dies, then becomes the command. So no driver
outlives its supervisor, however the supervisor ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

HOOK = "ONCEPROOF_HOOK"  # a folder to put first on the command's PYTHONPATH, but not on ours
_PR_SET_PDEATHSIG = 1


def leashed(command: Sequence[str]) -> list[str]:
    """Return a command that runs the given one and is killed when this process ends."""
    return [sys.executable, "-m", __name__, str(os.getpid()), *command]


def main(parent: int, command: list[str]) -> None:
    """Request SIGKILL at the parent's death, exit if it is already dead, and exec the command."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(f"supervisor {parent} has already exited")
    if hook := os.environ.pop(HOOK, None):
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([hook, *([path] if path else [])])
    os.execvp(command[0], command)  # noqa: S606  the user's own command, without a shell


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
