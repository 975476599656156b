"""Fills the disk of the job's checkpoint, or of its output in files.

The disk is a small file system that belongs to the run: see `onceproof.faults.small_disks`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from onceproof.errors import StackError
from onceproof.faults import TARGET, WHEN, Mechanism, Need, Proof, Scene, Setting
from onceproof.faults.checks import Case, Check, whole
from onceproof.machine.polling import wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import FaultPart

FOLDERS: Mapping[str, Callable[[RunDirectory], Path]] = {
    "checkpoint": lambda run: run.checkpoint,
    "output": lambda run: run.output,
}
_FILLER = ".filler"
_FULL_WITHIN_S = 5.0
_CHUNKS = (1 << 20, 1 << 12, 1)


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Fill it to the last byte; the proof is the file system's number of free bytes."""
    folder = FOLDERS[fault.target](scene.job.run)
    if not os.path.ismount(folder):
        raise StackError(f"{folder.name}/ is not on a disk of its own: nothing was filled")
    if fault.target == "output" and (own := scene.plan.output.options.get("folder")):
        raise StackError(f"the output folder {own} is not on a disk of the run: nothing was filled")
    words = f"{folder.name}/ has free bytes again each time after it was filled"
    written = wait_for(lambda: _fill(folder / _FILLER), _FULL_WITHIN_S, words)
    return {"folder": folder.name, "filler_bytes": written, "free_bytes": 0}


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:
    """Remove the file that fills the disk."""
    folder = FOLDERS[fault.target](scene.job.run)
    (folder / _FILLER).unlink(missing_ok=True)
    free = os.statvfs(folder)
    return {"folder": proof["folder"], "free_bytes": free.f_bavail * free.f_frsize}


def _fill(path: Path) -> int:
    """Write until the disk is full, and return the file's size; 0 if there is space again."""
    with path.open("ab", buffering=0) as file:
        for size in _CHUNKS:
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:  # a full disk takes no more of this size
                continue
        return 0 if os.statvfs(path).f_bavail else os.fstat(file.fileno()).st_size


def _was_filled(case: Case) -> bool:
    return whole(case.proof["filler_bytes"], 1) > 0 == whole(case.proof["free_bytes"])


def _has_room_again(case: Case) -> bool:
    return case.cure["folder"] == case.fault.target and whole(case.cure["free_bytes"], 1) > 0


_PROVES = (
    Check(
        "`folder` is the planned one",
        lambda case: bool(case.proof["folder"] == case.fault.target),
    ),
    Check("`filler_bytes` were written, and `free_bytes` is 0", _was_filled),
)
_CURES = (Check("the same `folder` has `free_bytes` again", _has_room_again),)


def _no_files(one: Setting) -> str:
    if one.target != "output" or not one.sink or one.sink.store == "files":
        return ""
    return f"{one.sink.__name__} writes no files; use target: checkpoint, or another sink"


def _elsewhere(one: Setting) -> str:
    if one.target != "output" or not one.sink or "folder" not in one.sink_options:
        return ""
    return (
        "the output folder is yours and not on a disk of the run; remove the option folder and let"
        " the job write to {target}, or use target: checkpoint"
    )


MECHANISM = Mechanism(
    {"fill": "no free byte on that file system"},
    tuple(FOLDERS),
    strike,
    _PROVES,
    heal,
    _CURES,
    needs=(Need(WHEN, _no_files), Need(TARGET, _elsewhere)),
    disks={name: name for name in FOLDERS},
)
