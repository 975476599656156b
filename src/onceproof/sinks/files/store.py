"""Files as a store for two-phase commit: staged and fsynced, decided by a link, then renamed.

A target's folder has `data/`, `_stage/` with one file per part that is not ended, and
`_writers/<writer>/` with claims and decisions. All are on one file system, so making a part visible
is one rename.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.sinks.files.claims import FileClaims
from onceproof.sinks.files.folders import data_of, folder_of, sync_folder
from onceproof.sinks.files.parquet_rows import schema
from onceproof.sinks.protocol import Part, checked_writer

_HEAD, _TAIL = "part-", ".parquet"


@dataclass(frozen=True)
class FileStore:
    """The files of one target; pickled and sent to executors, which share the file system."""

    target: Target

    @property
    def writer(self) -> str:
        """The name under which decisions are recorded."""
        return checked_writer(self.target.writer or "main")

    @property
    def stage(self) -> Path:
        """The folder of the parts that are not ended."""
        return folder_of(self.target) / "_stage"

    @property
    def memory(self) -> FileClaims:
        """The memory of the writer."""
        return FileClaims(folder_of(self.target) / "_writers" / self.writer)

    def make(self) -> None:
        """Create the stage, and make its name durable."""
        self.stage.mkdir(exist_ok=True)
        sync_folder(self.stage.parent)

    def begin(self, part: Part) -> FilePart:
        """Begin to write a part into the stage."""
        return FilePart(self.stage / file_name(part), schema(self.target))

    def open(self) -> Sequence[Part]:
        """Return this writer's parts in the stage, including those still being written."""
        names = os.listdir(self.stage) if self.stage.is_dir() else []
        found = [part_of(name) for name in names if name.startswith(_HEAD)]
        return sorted(part for part in found if part.writer == self.writer)

    def commit(self, part: Part) -> None:
        """Rename a part into the visible folder; idempotent."""
        staged, data = self.stage / file_name(part), data_of(self.target)
        try:
            staged.rename(data / staged.name)
        except FileNotFoundError:
            if not (data / staged.name).exists():
                raise StackError(
                    f"{staged.name} is decided but is neither in {self.stage.name} nor in"
                    f" {data.name}: its file was removed; restore it"
                ) from None
        sync_folder(data)

    def abort(self, part: Part) -> None:
        """Remove a part from the stage; a task that still writes to it cannot pre-commit it."""
        (self.stage / file_name(part)).unlink(missing_ok=True)

    def hidden(self) -> int:
        """Return the number of rows in the complete files of the stage."""
        return sum(_rows(self.stage / file_name(part)) for part in self.open())


@dataclass
class FilePart:
    """A file that a task is writing."""

    path: Path
    schema: Any
    _file: Any = field(init=False)
    _writer: Any = field(init=False)

    def __post_init__(self) -> None:
        import pyarrow.parquet as parquet

        self._file = self.path.open("xb")
        self._writer = parquet.ParquetWriter(self._file, self.schema)

    def write(self, rows: Any) -> None:
        """Write some rows."""
        self._writer.write_batch(rows)

    def pre_commit(self) -> None:
        """Make the file and its name durable; raises if the part was swept meanwhile."""
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        sync_folder(self.path.parent)
        is_there = os.fstat(self._file.fileno()).st_nlink
        self._file.close()
        if not is_there:
            raise StackError(f"{self.path.name} was swept from the stage by a newer run")

    def abort(self) -> None:
        """Remove the file."""
        with suppress(OSError):  # the disk may be full
            self._writer.close()
        self._file.close()
        self.path.unlink(missing_ok=True)


def file_name(part: Part) -> str:
    """Return the name of a part's file: valid in Hadoop paths, and not hidden from readers."""
    return f"{_HEAD}{part.name.replace(':', '-')}{_TAIL}"


def part_of(name: str) -> Part:
    """Return the part of the file with this name."""
    return Part.of(":".join(name.removeprefix(_HEAD).removesuffix(_TAIL).rsplit("-", 5)))


def _rows(path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (FileNotFoundError, pa.ArrowException):  # half-written, or just ended
        return 0
