"""What every sink of a table has: how its table is looked at, and the writer's one connection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from onceproof.run.plan import Writes
from onceproof.sinks import Reader, Target
from onceproof.sinks.tables.reader import TableReader
from onceproof.sinks.tables.table import read
from onceproof.sinks.tables.writer_session import WriterSession


@dataclass(frozen=True)
class TableSink:
    """A table of PostgreSQL, as sinks that write to one look at it."""

    target: Target

    store = "postgresql"
    atomic_batches = False
    ordered = False
    writes = Writes.APPEND

    def open(self) -> tuple[int, int]:
        """No transaction outlives its task."""
        return 0, 0

    def reader(self) -> Reader:
        """Return somebody who looks at the table again and again."""
        return TableReader(self.target, keyed=self.writes is Writes.UPSERT)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write the table as parquet."""
        return read(self.target, folder)

    @cached_property
    def _session(self) -> WriterSession:
        return WriterSession(self.target)
