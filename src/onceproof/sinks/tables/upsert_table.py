"""Rows upserted into a PostgreSQL table by their key: the newest batch of a key wins.

A replay of a batch overwrites rows with equal rows, and an older batch changes nothing. The input
of each batch is recorded beside the table, so that a batch with other input is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from onceproof.guarantee import Guarantee
from onceproof.runs.plan import Writes
from onceproof.sinks import Target
from onceproof.sinks.in_spark.part_tasks import writer_of
from onceproof.sinks.protocol.writer import IdempotentRun
from onceproof.sinks.tables.memory import TableMemory
from onceproof.sinks.tables.sink import TableSink
from onceproof.sinks.tables.table import columns, drop, listed, make, table
from onceproof.sinks.tables.writer import copy_in, write_batch


@dataclass(frozen=True)
class UpsertTable(TableSink):
    """A table with a unique key; each task upserts its rows in a transaction of its own.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    family = "idempotent"
    guarantee = Guarantee.EXACTLY_ONCE
    writes = Writes.UPSERT
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = (
        *("task_begin", "task_mid", "task_done"),
        *("write_half", "written", "sink_committed"),
    )

    def prepare(self) -> None:
        """Create the table and the memory beside it."""
        make(self.target, unique=True)
        TableMemory(self._session).make()

    def write(self, frame: Any, batch: int) -> None:
        """Upsert the rows of a batch; rows of newer batches are kept."""
        self._run.write(batch, lambda: write_batch(self.target, frame, batch, _put))

    def recover(self) -> Mapping[str, Any]:
        """Claim the writer; uncommitted rows of crashed tasks do not exist."""
        return self._begun().recover()

    def drop(self) -> None:
        """Drop the table and its memory."""
        TableMemory(self._session).drop()
        self._session.close()
        drop(self.target)

    @cached_property
    def _run(self) -> IdempotentRun:
        return self._begun()

    def _begun(self) -> IdempotentRun:
        memory = TableMemory(self._session)
        return IdempotentRun(writer_of(self.target, self._session.writer, memory))


def _put(connection: Any, target: Target, rows: Iterable[bytes]) -> None:
    """Stage the rows, then upsert them in the order of their keys, which prevents deadlocks.

    Of several rows of a key in a partition the one with the highest version wins, else the last.
    An equal row is not updated, so a late replay of a batch touches nothing.
    """
    from psycopg import sql

    staged = sql.Identifier("pg_temp", "staged")
    connection.execute(
        sql.SQL("create temp table staged (like {}) on commit drop").format(table(target))
    )
    copy_in(connection, staged, target, rows)
    newest: list[sql.Composable] = [sql.SQL("ctid desc")]
    if target.version:
        newest.insert(0, sql.SQL("{} desc nulls last").format(sql.Identifier(target.version)))
    others = [name for name in columns(target) if name not in target.key]
    compared = [name for name in others if name != "_attempt"]
    connection.execute(
        sql.SQL(
            "insert into {table} as held ({columns}) select distinct on ({key}) {columns}"
            " from {staged} order by {key}, {newest} on conflict ({key}) do update set {values}"
            " where held._batch <= excluded._batch and ({held}) is distinct from ({put})"
        ).format(
            table=table(target),
            columns=listed(columns(target)),
            key=listed(target.key),
            staged=staged,
            newest=sql.SQL(", ").join(newest),
            held=listed(compared, "held"),
            put=listed(compared, "excluded"),
            values=sql.SQL(", ").join(
                sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others
            ),
        )
    )
