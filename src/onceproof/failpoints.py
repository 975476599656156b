"""Named steps of a protocol at which a run can halt a process, so that a fault strikes right there.

A fault whose trigger is a failpoint arms it: a file of its own in the run's folder of failpoints.
The process that reaches the step first creates the mark beside it, exclusively and fsynced, so the
mark is evidence whatever happens next; then it waits. Whoever struck lets it go on, if it still
lives. A mark is made once for a run, over all restarts, unless who made it died of something else
before it was struck. Without an armed failpoint, or outside a run, a step costs one look at the
environment.
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
# Those that a task comes to, in an executor; to the others the driver does.
TASK = ("task_begin", "task_mid", "pre_committed", "task_done")
OF_THE_BATCH_BEFORE = ("apply_half", "applied_unmarked", "marked")  # when the next one begins
# Those at which a process of the job can be halted, in the order in which a batch comes to them.
HALTS = (
    *OF_THE_BATCH_BEFORE,
    *TASK,
    *("write_half", "written", "all_pre_committed", "decided", "commit_half", "committed"),
    *("staged", "sink_committed"),
)
# Those that the checkpoint's files show: the engine is not ours to halt.
SEEN = ("offsets_written", "commit_logged")
NAMES = (*SEEN, *HALTS)
_HELD_AT_MOST_S = 120.0
_LOOK_EVERY_S = 0.005
_RAISE = "raise"


class FailpointError(StackError):
    """What a halted process raises where a fault wants it to fail."""


@dataclass(frozen=True)
class Failpoint:
    """A step that is to be halted at, in its batch or the first one after it."""

    fault: str
    name: str
    batch: int
    folder: Path

    @property
    def armed(self) -> Path:
        """The file that says what is waited for."""
        return self.folder / f"{self.fault}.json"

    @property
    def mark(self) -> Path:
        """The file that says that it was reached, by whom and in which batch."""
        return self.folder / f"{self.fault}.reached"

    @property
    def way_on(self) -> Path:
        """The file for which the halted process waits."""
        return self.folder / f"{self.fault}.go"

    def arm(self) -> None:
        """Make it ready; a second time changes nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.armed, json.dumps({"name": self.name, "batch": self.batch}))

    def arm_again(self) -> None:
        """Wait for the next that comes: who was here before is dead, and was not struck here."""
        self.mark.unlink(missing_ok=True)
        self.way_on.unlink(missing_ok=True)

    def reached(self) -> Mapping[str, Any] | None:
        """Return what the process that reached it wrote down; None if none did."""
        try:
            found: dict[str, Any] = json.loads(self.mark.read_text())
        except (FileNotFoundError, ValueError):  # not there, or being written
            return None
        return found

    @property
    def raised(self) -> Path:
        """The file that says that the halted process has raised."""
        return self.folder / f"{self.fault}.raised"

    def let_go(self) -> None:
        """Let the halted process go on, as it was told to before, if it was."""
        self.way_on.touch()

    def fail(self) -> None:
        """Let the halted process raise `FailpointError`."""
        write_whole(self.way_on, _RAISE)


def reached(name: str, batch: int, **facts: Any) -> None:
    """Halt here if this step of this batch is armed and was never reached; else return at once."""
    for point in _armed(name, batch):
        if _mark(point.mark, {"name": name, "batch": batch, "pid": os.getpid(), **facts}):
            wait_for(point.way_on.exists, _HELD_AT_MOST_S, _forgotten(point), every_s=_LOOK_EVERY_S)
            if point.way_on.read_text() == _RAISE:
                _mark(point.raised, {"pid": os.getpid()})
                raise FailpointError(f"{name} of batch {batch}: {point.fault} lets it fail here")


def is_armed(name: str, batch: int) -> bool:
    """Whether this step would halt in this batch, for steps that must be set up before."""
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
    return f"{point.name} was reached for the fault {point.fault}, and nobody struck"
