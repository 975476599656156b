"""A small file system in memory: mounted by root, gone with all that is on it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from onceproof.errors import StackError

_MBYTES = 64


def mount_disk(folder: Path) -> str:
    """Mount an empty one, and return why that could not be done; empty if it was."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={_MBYTES}m,mode=755", "tmpfs", str(folder)]
    return _failure(command)


def unmount_disk(folder: Path) -> None:
    """Unmount one: what is on it is gone when the last who has it open has ended."""
    if said := _failure(["umount", "--lazy", str(folder)]):
        raise StackError(f"{folder} could not be unmounted: {said}")


def replace_disk(folder: Path) -> None:
    """Lose a disk with all that is on it, and put an empty one in its place."""
    unmount_disk(folder)
    if said := mount_disk(folder):
        raise StackError(f"no other disk could be mounted on {folder}: {said}")


def _failure(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip() or f"it ended with {done.returncode}" if done.returncode else ""
