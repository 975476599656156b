"""What every sink of a table has: how its table is looked at, and the writer's one connection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.run.plan import Writes
from onceproof.sinks import Reader, Target
from onceproof.sinks.tables.memory import TableMemory
from onceproof.sinks.tables.reader import TableReader
from onceproof.sinks.tables.table import parts_of, read
from onceproof.sinks.tables.writer_session import WriterSession

_WRITERS = "select writer from {writers} order by writer"


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

    def writers(self) -> list[str]:
        """Return the writers of the table's schema; raises if none of its sinks remembers."""
        if not TableMemory(self._session).is_made():
            schema, _ = parts_of(self.target)
            raise RequestError(
                f"{self.target.name} has no writers: in schema {schema} is no onceproof_writers,"
                " which a sink makes that remembers its batches. Name the table that it writes to"
            )
        return [name for (name,) in self._session.ask(_WRITERS)]

    @cached_property
    def _session(self) -> WriterSession:
        return WriterSession(self.target)
