"""Rows staged in a table of PostgreSQL, and added to another when the commit log has the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.guarantee import Guarantee
from onceproof.sinks.in_spark.driver_side import write_by_parts, writer_of
from onceproof.sinks.protocol import Part
from onceproof.sinks.protocol.wal import Wal
from onceproof.sinks.sweep import Left, counted, staged
from onceproof.sinks.tables.casts import TYPES
from onceproof.sinks.tables.sink import TableSink
from onceproof.sinks.tables.staged_rows import StagedRows
from onceproof.sinks.tables.table import WROTE, drop, make, parts_of

_COLUMNS = """select column_name, udt_name from information_schema.columns
 where table_schema = %s and table_name = %s order by ordinal_position"""
_IS_THERE = "select 1 from pg_tables where schemaname = %s and tablename = %s"
_STAGED = "select _part from {staged} where split_part(_part, ':', 1) = %s group by 1 order by 1"


@dataclass(frozen=True)
class WalTable(TableSink):
    """A table whose rows and their mark are two transactions: who dies between repeats the rows.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    family = "wal"
    guarantee = Guarantee.AT_LEAST_ONCE
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar[tuple[str, ...]] = (
        *failpoints.TASK,
        *("staged", "sink_committed", "apply_half", "applied_unmarked", "marked"),
    )

    def prepare(self) -> None:
        """Make the table, the one that is staged in, and the memory."""
        make(self.target, unique=False)
        self._log.make()

    def write(self, frame: Any, batch: int) -> None:
        """Apply the batch before, then stage this one."""
        write_by_parts(self._run, self.target, frame, batch, self._log.begin)

    def recover(self) -> Mapping[str, Any]:
        """Apply what the commit log has; call it before each start and at the end."""
        return self._begun().recover()

    def open(self) -> tuple[int, int]:
        """Nothing that is staged hides rows which readers might expect: they are not there yet."""
        return 0, 0

    def drop(self) -> None:
        """Drop the tables."""
        self._log.drop()
        self._session.close()
        drop(self.target)

    @property
    def _log(self) -> StagedRows:
        return StagedRows(self._session)

    @cached_property
    def _run(self) -> Wal:
        return self._begun()

    def _begun(self) -> Wal:
        writer = writer_of(self.target, self._session.writer, self._log)
        return Wal(self._log, writer, failpoints.reached, atomic=self.atomic_batches)


@dataclass(frozen=True)
class WalTableAtomic(WalTable):
    """The same with the rows and their mark in one transaction, so a batch is there once."""

    guarantee = Guarantee.EXACTLY_ONCE
    atomic_batches = True
    steps: ClassVar = (*failpoints.TASK, "staged", "sink_committed", "apply_half", "marked")

    def left(self) -> list[Left]:
        """Return what is staged, by this sink or by the other."""
        schema, table = parts_of(self.target)
        if not self._session.ask(_IS_THERE, schema, f"{table}__staged"):
            return []
        named = {part for one in self._log.waiting() for part in one.parts}
        found = self._session.ask(_STAGED, self._session.writer)
        return staged(self.target, [Part.of(name) for (name,) in found], named)

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:  # noqa: ARG002
        """Add what the commit log has; which columns the table has the store tells."""
        names = {kind: name for name, kind in TYPES.items()}
        found = self._session.ask(_COLUMNS, *parts_of(self.target))
        columns = {name: names[kind] for name, kind in found if name not in WROTE}
        return counted(type(self)(replace(self.target, columns=columns)).recover())
