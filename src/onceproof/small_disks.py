"""Small file systems of a run's own, for what a fault is to fill: in memory, mounted by root.

They are made before the job starts and gone when the run is released. What a checkpoint held is
kept in the run's directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from onceproof.errors import RequestError, StackError
from onceproof.run import RunDirectory
from onceproof.work import FaultPart

FILL = "fill"
FOLDERS: Mapping[str, Callable[[RunDirectory], Path]] = {
    "checkpoint": lambda run: run.checkpoint,
    "output": lambda run: run.output,
}
_MBYTES = 64


def mount_disks(run: RunDirectory, faults: Iterable[FaultPart]) -> None:
    """Mount a small disk for each folder that a fault fills; one that is there stays.

    Raises `RequestError`, with the reason, where this user cannot mount.
    """
    for target in dict.fromkeys(fault.target for fault in faults if fault.verb == FILL):
        folder = FOLDERS[target](run)
        folder.mkdir(exist_ok=True)
        if os.path.ismount(folder):
            continue
        command = ["mount", "-t", "tmpfs", "-o", f"size={_MBYTES}m,mode=755", "tmpfs", str(folder)]
        if said := _failure(command):
            raise RequestError(
                f"a disk of its own for the {target} could not be mounted ({said}): only root may,"
                " with the capability SYS_ADMIN; run as root, or leave the fault out"
            )


def unmount_disks(run: RunDirectory) -> None:
    """Unmount what was mounted for a run; a checkpoint's files stay. It may be repeated."""
    if os.path.ismount(run.checkpoint):
        kept = run.root / "checkpoint.kept"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(run.checkpoint, kept, ignore=shutil.ignore_patterns(".filler"))
        _unmount(run.checkpoint)
        run.checkpoint.rmdir()
        kept.rename(run.checkpoint)
    if os.path.ismount(run.output):
        _unmount(run.output)


def _unmount(folder: Path) -> None:
    if said := _failure(["umount", "--lazy", str(folder)]):
        raise StackError(f"{folder} could not be unmounted: {said}")


def _failure(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip() or f"it ended with {done.returncode}" if done.returncode else ""
