"""Rows staged in a PostgreSQL table, and added to the target once the commit log has the batch.

The target's rows, their mark and the staged rows are in one database, so rows and mark can be one
transaction. With two transactions the sink behaves as a log whose target is another store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.guarantee import Guarantee
from onceproof.sinks.in_spark.part_tasks import write_by_parts, writer_of
from onceproof.sinks.protocol import Decision, Part
from onceproof.sinks.protocol.wal import Wal
from onceproof.sinks.sweep import Left, counted, staged
from onceproof.sinks.tables.casts import TYPES
from onceproof.sinks.tables.memory import AGAIN, TableMemory
from onceproof.sinks.tables.sessions import as_stack_error
from onceproof.sinks.tables.sink import TableSink
from onceproof.sinks.tables.table import (
    WROTE,
    columns,
    copying,
    drop,
    listed,
    make,
    parts_of,
    table,
)
from onceproof.sinks.tables.writer_session import CopiedPart, WriterSession

_COLUMNS = """select column_name, udt_name from information_schema.columns
 where table_schema = %s and table_name = %s order by ordinal_position"""
_IS_THERE = "select 1 from pg_tables where schemaname = %s and tablename = %s"
_STAGED = "select _part from {staged} where split_part(_part, ':', 1) = %s group by 1 order by 1"
# Both rows stay locked until the transaction ends, so no newer run can claim meanwhile.
_STILL_OURS = """select 1 from {writers} join {decisions} using (writer)
 where writer = %s and {writers}.epoch = %s and batch = %s and not marked for update"""
_CLEAN = """with gone as (delete from {staged} where split_part(_part, ':', 1) = %s
 and split_part(_part, ':', 2)::int8 <= %s and _part <> all(%s) returning _part)
 select count(distinct _part) from gone"""
_MARK = "update {decisions} set marked = true where writer = %s and batch = %s"


@dataclass(frozen=True)
class WalTable(TableSink):
    """A table with rows and mark in two transactions: a crash in between repeats the rows.

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
        """Create the table, the staging table and the memory."""
        make(self.target, unique=False)
        self._log.make()

    def write(self, frame: Any, batch: int) -> None:
        """Apply the previous batch, then stage this one."""
        write_by_parts(self._run, self.target, frame, batch, self._log.begin)

    def recover(self) -> Mapping[str, Any]:
        """Apply the batches in the commit log; call it before each start and at the end."""
        return self._begun().recover()

    def open(self) -> tuple[int, int]:
        """Return (0, 0): staged rows are not committed yet, so no reader expects them."""
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
    """A table with rows and mark in one transaction, so each batch is applied once."""

    guarantee = Guarantee.EXACTLY_ONCE
    atomic_batches = True
    steps: ClassVar = (*failpoints.TASK, "staged", "sink_committed", "apply_half", "marked")

    def left(self) -> list[Left]:
        """Return the staged parts of this sink or of `wal_table`."""
        schema, table = parts_of(self.target)
        if not self._session.ask(_IS_THERE, schema, f"{table}__staged"):
            return []
        named = {part for one in self._log.waiting() for part in one.parts}
        found = self._session.ask(_STAGED, self._session.writer)
        return staged(self.target, [Part.of(name) for (name,) in found], named)

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:  # noqa: ARG002
        """Add the batches in the commit log; the table's columns are read from the store."""
        names = {kind: name for name, kind in TYPES.items()}
        found = self._session.ask(_COLUMNS, *parts_of(self.target))
        columns = {name: names[kind] for name, kind in found if name not in WROTE}
        return counted(type(self)(replace(self.target, columns=columns)).recover())


@dataclass(frozen=True)
class StagedRows:
    """The log of one writer."""

    session: WriterSession

    @property
    def memory(self) -> TableMemory:
        """The memory with the claims and decisions."""
        return TableMemory(self.session)

    def make(self) -> None:
        """Create the staging table and the memory; idempotent."""
        self.memory.make()
        self.session.ask("create table if not exists {staged} (like {table}, _part text not null)")

    def drop(self) -> None:
        """Drop both."""
        self.memory.drop()
        self.session.ask("drop table if exists {staged}")

    def claim(self, attempt: int) -> int:
        """Claim the writer."""
        return self.memory.claim(attempt)

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        return self.memory.newest()

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of one batch."""
        return self.memory.decision(batch)

    def decide(self, decision: Decision) -> bool:
        """Record a batch's parts, replacing an earlier decision unless it is marked."""
        return self.memory.decide(decision, AGAIN)

    def begin(self, part: Part) -> CopiedPart:
        """Begin to stage a part; its rows contain its name."""
        from psycopg import sql

        target = self.session.target
        with as_stack_error(target):
            session = self.session.of_task(part.epoch)
        into = copying(self.session.filled("{staged}"), [*columns(target), "_part"])
        return CopiedPart(target, session, into, sql.SQL("commit"), (part.name,))

    def waiting(self) -> Sequence[Decision]:
        """Return the unmarked decisions, in order."""
        return self.memory.decisions("and not marked order by batch")

    def apply(
        self, decision: Decision, epoch: int, half: Callable[[], None], *, mark: bool
    ) -> bool:
        """Add the staged rows to the table: in one transaction with the mark, else in two.

        `half` is called after half of the parts, so not for a batch of one part.
        """
        names = [part.name for part in decision.parts]
        first, rest = names[: len(names) // 2], names[len(names) // 2 :]
        with self._ours(decision, epoch) as is_ours:
            if is_ours:
                self._put(first or rest)
            if is_ours and mark:
                if first:
                    half()
                    self._put(rest)
                self._mark(decision)
        if not is_ours or mark or not first:
            return is_ours
        half()
        with self._ours(decision, epoch) as is_ours:
            if is_ours:
                self._put(rest)
        return is_ours

    def mark(self, decision: Decision, epoch: int) -> bool:
        """Record that a batch is applied."""
        with self._ours(decision, epoch) as is_ours:
            if is_ours:
                self._mark(decision)
        return is_ours

    def clean(self, keep: Iterable[Part], epoch: int) -> int:
        """Delete staged parts, except those to keep."""
        kept = [part.name for part in keep]
        ((parts,),) = self.session.ask(_CLEAN, self.session.writer, epoch, kept)
        return int(parts)

    @contextmanager
    def _ours(self, decision: Decision, epoch: int) -> Iterator[bool]:
        """Yield whether this run may apply the batch, in a transaction that blocks newer claims.

        False if a newer run has claimed or the batch is marked. The transaction is rolled back if
        the block raises.
        """
        given = (self.session.writer, epoch, decision.batch)
        with as_stack_error(self.session.target), self.session.open().transaction():
            yield bool(self.session.run(_STILL_OURS, *given))

    def _put(self, names: list[str]) -> None:
        from psycopg import sql

        target = self.session.target
        query = sql.SQL(
            "insert into {table} ({columns}) select {columns} from {staged} where _part = any(%s)"
        ).format(
            table=table(target),
            columns=listed(columns(target)),
            staged=self.session.filled("{staged}"),
        )
        self.session.open().execute(query, [names])

    def _mark(self, decision: Decision) -> None:
        self.session.run(_MARK, self.session.writer, decision.batch)
