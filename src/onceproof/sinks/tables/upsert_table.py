"""Rows put into a table of PostgreSQL by their key: the newest batch of a key stays.

A replay of a batch puts the same rows over themselves, and an older batch changes nothing. What
each batch stands for is remembered beside the table, so that what is no replay is refused.
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
from onceproof.sinks.protocol.writer import Remembered
from onceproof.sinks.tables.memory import TableMemory
from onceproof.sinks.tables.sink import TableSink
from onceproof.sinks.tables.table import columns, drop, listed, make, table
from onceproof.sinks.tables.writer import copy_in, write_batch


@dataclass(frozen=True)
class UpsertTable(TableSink):
    """A table whose key is unique; each task puts its rows in a transaction of its own.

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
        """Make the table and the memory beside it."""
        make(self.target, unique=True)
        TableMemory(self._session).make()

    def write(self, frame: Any, batch: int) -> None:
        """Put the rows of a batch over those of their keys that are not newer."""
        self._run.write(batch, lambda: write_batch(self.target, frame, batch, _put))

    def recover(self) -> Mapping[str, Any]:
        """Claim the writer; nothing else is left of what a dead task did not commit."""
        return self._begun().recover()

    def drop(self) -> None:
        """Drop the table and its memory."""
        TableMemory(self._session).drop()
        self._session.close()
        drop(self.target)

    @cached_property
    def _run(self) -> Remembered:
        return self._begun()

    def _begun(self) -> Remembered:
        memory = TableMemory(self._session)
        return Remembered(writer_of(self.target, self._session.writer, memory))


def _put(connection: Any, target: Target, rows: Iterable[bytes]) -> None:
    """Stage the rows, then put them in the order of their keys, in which nobody can deadlock.

    Of several rows of a key in a partition the one with the highest version is put, else the last.
    One that is there already stays as it is: who repeats a batch late touches nothing.
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
    told = [name for name in others if name != "_attempt"]
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
            held=listed(told, "held"),
            put=listed(told, "excluded"),
            values=sql.SQL(", ").join(
                sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others
            ),
        )
    )
