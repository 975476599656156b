"""Small file systems of a run's own, for what a fault is to fill or to lose: in memory.

They are made before the job starts and gone when the run is released. What a checkpoint held is
kept in the run's directory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from onceproof.errors import RequestError
from onceproof.faults.fill_disk import FOLDERS
from onceproof.faults.registry import find_mechanism
from onceproof.machine.disks import mount_disk, unmount_disk
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import FaultPart


def mount_disks(run: RunDirectory, faults: Iterable[FaultPart]) -> None:
    """Mount a small disk for each folder that a fault fills or loses; one that is there stays.

    Raises `RequestError`, with the reason, where this user cannot mount.
    """
    for target in dict.fromkeys(filter(None, map(_on_disk, faults))):
        folder = FOLDERS[target](run)
        folder.mkdir(exist_ok=True)
        if os.path.ismount(folder):
            continue
        if said := mount_disk(folder):
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
        unmount_disk(run.checkpoint)
        run.checkpoint.rmdir()
        kept.rename(run.checkpoint)
    if os.path.ismount(run.output):
        unmount_disk(run.output)


def _on_disk(fault: FaultPart) -> str:
    """Return the folder that must lie on a disk of its own for a fault, if one must."""
    return find_mechanism(fault.verb, fault.target).disks.get(fault.target, "")
