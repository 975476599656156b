"""Files published by two-phase commit: staged, decided once, renamed into place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.runs.plan import Writes
from onceproof.sinks import Reader, Target
from onceproof.sinks.files.folders import data_of, drop, folder_of, make, visible
from onceproof.sinks.files.reader import FolderReader, read
from onceproof.sinks.files.store import FileStore, file_name, part_of
from onceproof.sinks.in_spark.part_tasks import write_by_parts, writer_of
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.sweep import Fate, Left, counted, decided


@dataclass(frozen=True)
class TwoPhaseFiles:
    """A folder to which each batch adds one file per task; a decided batch commits file by file.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    target: Target

    family = "two_phase"
    store = "files"
    guarantee = Guarantee.EXACTLY_ONCE
    atomic_batches = False
    ordered = False
    writes = Writes.APPEND
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = (
        *failpoints.TASK,
        *("all_pre_committed", "decided", "commit_half", "committed", "sink_committed"),
    )

    def prepare(self) -> None:
        """Create the folder and its stage."""
        make(self.target)
        self._store.make()

    def is_prepared(self) -> bool:
        """Whether the stage exists."""
        return self._store.stage.is_dir()

    def write(self, frame: Any, batch: int) -> None:
        """Write a batch; for a decided batch only run the plan."""
        write_by_parts(self._run, self.target, frame, batch, self._store.begin)

    def recover(self) -> Mapping[str, Any]:
        """Commit the decided files of crashed attempts, and remove their other staged files."""
        return self.begun().recover()

    def open(self) -> tuple[int, int]:
        """Return the number of staged files and of their rows."""
        return len(self._store.open()), self._store.hidden()

    def writers(self) -> list[str]:
        """Return the writers of the folder; raises if no sink has recorded batches there."""
        folder = folder_of(self.target)
        writers = folder / "_writers"
        if not writers.is_dir():
            raise RequestError(
                f"{folder} has no folder _writers, in which file sinks record their batches;"
                " name the folder that contains data/"
            )
        return sorted(os.listdir(writers))

    def left(self) -> list[Left]:
        """Return the staged files, including those in the claims of a `batch_folder`."""
        store = self._store
        memory = store.memory
        claimed = sorted(memory.folder.glob("epoch-*/_*/*.parquet"))
        return [
            Left("staged file", part, decided(memory, part), _made(store.stage / file_name(part)))
            for part in store.open()
        ] + [Left("staged file", part_of(one.name), Fate.REMOVE, _made(one)) for one in claimed]

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:
        """Settle the staged files; those in a claim are removed with it."""
        removed = sum(one.fate is Fate.REMOVE for one in left)
        return counted({**self.recover(), "removed": removed})

    def reader(self) -> Reader:
        """Return a reader that polls the folder."""
        return FolderReader(self.target, self._visible)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write all visible rows as one file."""
        return read(self.target, self._visible, folder)

    def drop(self) -> None:
        """Remove the folder."""
        drop(self.target)

    @cached_property
    def _run(self) -> TwoPhase:
        return self.begun()

    @property
    def _store(self) -> FileStore:
        return FileStore(self.target)

    @property
    def _visible(self) -> Any:
        return partial(visible, data_of(self.target))

    def begun(self) -> TwoPhase:
        """Return the driver's side of a run that has not claimed yet."""
        store = self._store
        writer = writer_of(self.target, store.writer, store.memory)
        return TwoPhase(store, writer, failpoints.reached)


def _made(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
    except FileNotFoundError:  # just ended
        return None
