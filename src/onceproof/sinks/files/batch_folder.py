"""A folder per batch, moved into place as a whole; a replay replaces the batch's folder.

The input of a batch is recorded before it is written, so a checkpoint that did not write the
folders is rejected before it replaces any of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.guarantee import Guarantee
from onceproof.runs.plan import Writes
from onceproof.sinks import Reader, Target
from onceproof.sinks.files.claims import FileClaims
from onceproof.sinks.files.folders import (
    data_of,
    drop,
    exchange,
    folder_of,
    make,
    sync_folder,
    visible,
)
from onceproof.sinks.files.parquet_rows import schema
from onceproof.sinks.files.reader import FolderReader, read
from onceproof.sinks.files.store import FilePart, file_name
from onceproof.sinks.in_spark.part_tasks import write_parts, writer_of
from onceproof.sinks.protocol import Part
from onceproof.sinks.protocol.writer import IdempotentRun, Writer

_WRITER = "batches"


@dataclass(frozen=True)
class BatchFolder:
    """A folder with one subfolder per batch; readers see all of a batch or nothing of it.

    One object is one run: it claims the folder at its first batch, and never again.
    """

    target: Target

    family = "idempotent"
    store = "files"
    guarantee = Guarantee.EXACTLY_ONCE
    atomic_batches = True
    ordered = False
    writes = Writes.APPEND
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = (*failpoints.TASK, "write_half", "written", "sink_committed")

    def prepare(self) -> None:
        """Create the folder."""
        make(self.target)

    def write(self, frame: Any, batch: int) -> None:
        """Stage a batch, then move it into place."""

        def put() -> None:
            staged = self._claims.of(self._run.epoch)
            _write(self.target, frame, batch, Staged(staged, batch), self._run)

        IdempotentRun(self._run).write(batch, put)
        failpoints.reached("written", batch)
        failpoints.reached("sink_committed", batch)

    def recover(self) -> Mapping[str, Any]:
        """Claim the folder, which removes the staged files of crashed attempts."""
        return IdempotentRun(self._begun()).recover()

    def open(self) -> tuple[int, int]:
        """Return (0, 0): a batch becomes visible in one step."""
        return 0, 0

    def reader(self) -> Reader:
        """Return a reader that polls the folders."""
        return FolderReader(self.target, self._visible)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write all visible rows as one file."""
        return read(self.target, self._visible, folder)

    def drop(self) -> None:
        """Remove the folder."""
        drop(self.target)

    @cached_property
    def _run(self) -> Writer:
        return self._begun()

    def _begun(self) -> Writer:
        return writer_of(self.target, _WRITER, self._claims)

    @property
    def _claims(self) -> FileClaims:
        return FileClaims(folder_of(self.target) / "_writers" / _WRITER)

    @property
    def _visible(self) -> Any:
        return partial(visible, data_of(self.target))


@dataclass(frozen=True)
class Staged:
    """A batch staged in the claim folder of its run; a newer claim removes it."""

    claim: Path
    batch: int

    @property
    def parts(self) -> Path:
        """The folder that all task attempts write to, including those that will lose."""
        return self.claim / f"_parts-{self.batch}"

    @property
    def whole(self) -> Path:
        """The folder for the parts that won; tasks do not write to it."""
        return self.claim / f"_whole-{self.batch}"

    def begin(self, target: Target, part: Part) -> FilePart:
        """Begin to write a part."""
        return FilePart(self.parts / file_name(part), schema(target))

    def put(self, place: Path, won: list[Part]) -> None:
        """Move the parts that won into the batch's place, replacing its previous content."""
        self.whole.mkdir()
        for part in won:
            (self.parts / file_name(part)).rename(self.whole / file_name(part))
        sync_folder(self.whole)
        if place.exists():
            exchange(self.whole, place)
        elif won:
            self.whole.rename(place)
        sync_folder(place.parent)

    def clear(self) -> None:
        """Remove the staged files."""
        for folder in (self.parts, self.whole):
            shutil.rmtree(folder, ignore_errors=True)


def _write(target: Target, frame: Any, batch: int, staged: Staged, run: Writer) -> None:
    staged.clear()
    try:
        staged.parts.mkdir()
        begin = partial(staged.begin, target)
        won = write_parts(target, frame, batch, begin, run.name, run.epoch)
        failpoints.reached("write_half", batch)
        staged.put(data_of(target) / f"batch={batch}", won)
    except Exception as error:
        if staged.claim.exists():
            raise
        raise run.superseded(batch) from error
    staged.clear()
