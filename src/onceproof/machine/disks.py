"""Small in-memory file systems (tmpfs); mounting one needs root."""

from __future__ import annotations

import subprocess
from pathlib import Path

from onceproof.errors import StackError

_MBYTES = 64


def mount_disk(folder: Path) -> str:
    """Mount an empty disk on a folder; return why it failed, or an empty string."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={_MBYTES}m,mode=755", "tmpfs", str(folder)]
    return _failure(command)


def unmount_disk(folder: Path) -> None:
    """Unmount a disk lazily: its content disappears when the last process has closed its files."""
    if failure := _failure(["umount", "--lazy", str(folder)]):
        raise StackError(f"cannot unmount {folder}: {failure}")


def replace_disk(folder: Path) -> None:
    """Discard a disk with its content and mount an empty one on the same folder."""
    unmount_disk(folder)
    if failure := mount_disk(folder):
        raise StackError(f"cannot mount a new disk on {folder}: {failure}")


def _failure(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip() or f"exit status {done.returncode}" if done.returncode else ""
