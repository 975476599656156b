"""Rows appended to a PostgreSQL table, without a record of batches: a replay adds them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from onceproof.guarantee import Guarantee
from onceproof.sinks import Target
from onceproof.sinks.tables.sink import TableSink
from onceproof.sinks.tables.table import drop, make, table
from onceproof.sinks.tables.writer import copy_in, write_batch


@dataclass(frozen=True)
class AppendTable(TableSink):
    """A table without a key; each task adds its rows in a transaction of its own."""

    family = "append"
    guarantee = Guarantee.AT_LEAST_ONCE
    modes: ClassVar = ("append", "update")
    steps: ClassVar = (
        *("task_begin", "task_mid", "task_done"),
        *("write_half", "written", "sink_committed"),
    )

    def prepare(self) -> None:
        """Create the table."""
        make(self.target, unique=False)

    def write(self, frame: Any, batch: int) -> None:
        """Add the rows of a batch."""
        write_batch(self.target, frame, batch, _add)

    def recover(self) -> Mapping[str, Any]:
        """Return an empty mapping: uncommitted rows of crashed tasks do not exist."""
        return {}

    def drop(self) -> None:
        """Drop the table."""
        drop(self.target)


def _add(connection: Any, target: Target, rows: Iterable[bytes]) -> None:
    copy_in(connection, table(target), target, rows)
