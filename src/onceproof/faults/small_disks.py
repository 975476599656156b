"""Small in-memory file systems of a run, for folders that a fault fills or loses.

They are mounted before the job starts, and unmounted when the run is released; the files of a
checkpoint are then kept in the run's directory.
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
    """Mount a small disk for each folder that a fault fills or loses, if it is not mounted yet.

    Raises `RequestError` with the reason if this user cannot mount.
    """
    for target in dict.fromkeys(filter(None, map(_on_disk, faults))):
        folder = FOLDERS[target](run)
        folder.mkdir(exist_ok=True)
        if os.path.ismount(folder):
            continue
        if reason := mount_disk(folder):
            raise RequestError(
                f"cannot mount a disk for the {target} ({reason}); run as root with the capability"
                " SYS_ADMIN, or remove the fault"
            )


def unmount_disks(run: RunDirectory) -> None:
    """Unmount the disks of a run, and keep the checkpoint's files; idempotent."""
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
    return find_mechanism(fault.verb, fault.target).disks.get(fault.target, "")
