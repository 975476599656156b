"""Named steps of a protocol at which a run can halt a process, so that a fault strikes there.

A fault whose trigger is a failpoint arms it by a file in the run's folder of failpoints. The first
process that reaches the step creates a mark beside that file, exclusively and fsynced, so the mark
is evidence whatever happens next; then it waits. After the strike the fault lets the process go on
if it is still alive. A run creates a mark once, over all restarts, unless its process crashed for
another reason before the strike. Without an armed failpoint, or outside a run, a step costs one
lookup of an environment variable.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.documents import write_whole
from onceproof.errors import StackError
from onceproof.machine.polling import wait_for

FOLDER = "ONCEPROOF_FAILPOINTS"
# Steps of tasks in executors; all others are steps of the driver.
TASK = ("task_begin", "task_mid", "pre_committed", "task_done")
OF_THE_BATCH_BEFORE = ("apply_half", "applied_unmarked", "marked")  # when the next one begins
# Steps at which a process of the job can be halted, in the order in which a batch reaches them.
HALTS = (
    *OF_THE_BATCH_BEFORE,
    *TASK,
    *("write_half", "written", "all_pre_committed", "decided", "commit_half", "committed"),
    *("staged", "sink_committed"),
)
# Steps of the engine, which cannot be halted: the checkpoint's files show them.
SEEN = ("offsets_written", "commit_logged")
NAMES = (*SEEN, *HALTS)
_HELD_AT_MOST_S = 120.0
_LOOK_EVERY_S = 0.005
_RAISE = "raise"


class FailpointError(StackError):
    """The error that a halted process raises if the fault makes it fail."""


@dataclass(frozen=True)
class Failpoint:
    """A step at which to halt a process, in its batch or the first later one that reaches it."""

    fault: str
    name: str
    batch: int
    folder: Path

    @property
    def armed(self) -> Path:
        """The file with the step and the batch to halt at."""
        return self.folder / f"{self.fault}.json"

    @property
    def mark(self) -> Path:
        """The file with the process and the batch that reached the step."""
        return self.folder / f"{self.fault}.reached"

    @property
    def way_on(self) -> Path:
        """The file that the halted process waits for."""
        return self.folder / f"{self.fault}.go"

    def arm(self) -> None:
        """Arm the failpoint; idempotent."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.armed, json.dumps({"name": self.name, "batch": self.batch}))

    def arm_again(self) -> None:
        """Halt the next process too: the previous one crashed before the strike."""
        self.mark.unlink(missing_ok=True)
        self.way_on.unlink(missing_ok=True)

    def reached(self) -> Mapping[str, Any] | None:
        """Return the mark of the process that reached it; None if there is no mark."""
        try:
            found: dict[str, Any] = json.loads(self.mark.read_text())
        except (FileNotFoundError, ValueError):  # not there, or being written
            return None
        return found

    @property
    def raised(self) -> Path:
        """The file that shows that the halted process has raised."""
        return self.folder / f"{self.fault}.raised"

    def let_go(self) -> None:
        """Let the halted process go on; after `fail`, it raises."""
        self.way_on.touch()

    def fail(self) -> None:
        """Make the halted process raise `FailpointError`."""
        write_whole(self.way_on, _RAISE)


def reached(name: str, batch: int, **facts: Any) -> None:
    """Halt if this step of this batch is armed and was never reached; else return at once."""
    for point in _armed(name, batch):
        if _mark(point.mark, {"name": name, "batch": batch, "pid": os.getpid(), **facts}):
            wait_for(point.way_on.exists, _HELD_AT_MOST_S, _forgotten(point), every_s=_LOOK_EVERY_S)
            if point.way_on.read_text() == _RAISE:
                _mark(point.raised, {"pid": os.getpid()})
                raise FailpointError(f"{name} of batch {batch}: fault {point.fault} made it fail")


def is_armed(name: str, batch: int) -> bool:
    """Whether this step would halt in this batch, for steps that need preparation."""
    return any(not point.mark.exists() for point in _armed(name, batch))


def _armed(name: str, batch: int) -> list[Failpoint]:
    folder = os.environ.get(FOLDER)
    if not folder:
        return []
    found = []
    for path in Path(folder).glob("*.json"):
        point = json.loads(path.read_text())
        if point["name"] == name and batch >= point["batch"]:
            found.append(Failpoint(path.stem, name, point["batch"], path.parent))
    return found


def _mark(path: Path, facts: Mapping[str, Any]) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    try:
        os.write(handle, json.dumps(facts).encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    return True


def _forgotten(point: Failpoint) -> str:
    return f"{point.name} was reached for fault {point.fault}, which did not strike"
