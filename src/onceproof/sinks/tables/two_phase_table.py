"""Rows added to a PostgreSQL table by two-phase commit: prepared by tasks, decided once.

A part is a transaction that its task prepares (PREPARE TRANSACTION).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.machine.polling import wait_for
from onceproof.sinks.in_spark.part_tasks import write_by_parts, writer_of
from onceproof.sinks.protocol import Part
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.sweep import Left, counted, decided
from onceproof.sinks.tables.memory import TableMemory
from onceproof.sinks.tables.sessions import as_stack_error
from onceproof.sinks.tables.sink import TableSink
from onceproof.sinks.tables.table import columns, copying, drop, make, parts_of, table
from onceproof.sinks.tables.writer_session import CopiedPart, WriterSession

_HEAD = "onceproof:"
_BUSY_AT_MOST_S = 10.0


@dataclass(frozen=True)
class TwoPhaseTable(TableSink):
    """A table to which each task adds its rows in a prepared transaction.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    family = "two_phase"
    guarantee = Guarantee.EXACTLY_ONCE
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = (
        *failpoints.TASK,
        *("all_pre_committed", "decided", "commit_half", "committed", "sink_committed"),
    )

    def prepare(self) -> None:
        """Create the table and the memory beside it."""
        self._store.check()
        make(self.target, unique=False)
        TableMemory(self._session).make()

    def is_prepared(self) -> bool:
        """Whether the memory exists; the table alone may be the user's own."""
        return TableMemory(self._session).is_made()

    def write(self, frame: Any, batch: int) -> None:
        """Write a batch; for a decided batch only run the plan."""
        write_by_parts(self._run, self.target, frame, batch, self._store.begin)

    def recover(self) -> Mapping[str, Any]:
        """Commit the decided transactions of crashed attempts, and roll back the others."""
        return self.begun().recover()

    def open(self) -> tuple[int, int]:
        """Return the number of prepared transactions; the store cannot count their rows."""
        return len(self._store.open()), 0

    def left(self) -> list[Left]:
        """Return the prepared transactions."""
        memory = TableMemory(self._session)
        return [
            Left("prepared", part, decided(memory, part), since)
            for part, since in self._store.prepared().items()
        ]

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:  # noqa: ARG002
        """Commit or roll back the prepared transactions."""
        return counted(self.recover())

    def drop(self) -> None:
        """Roll back the prepared transactions, and drop the table and its memory."""
        for part in self._store.open():
            self._store.abort(part)
        TableMemory(self._session).drop()
        self._session.close()
        drop(self.target)

    @property
    def _store(self) -> PreparedParts:
        return PreparedParts(self._session)

    @cached_property
    def _run(self) -> TwoPhase:
        return self.begun()

    def begun(self) -> TwoPhase:
        """Return the driver's side of a run that has not claimed yet."""
        writer = writer_of(self.target, self._session.writer, TableMemory(self._session))
        return TwoPhase(self._store, writer, failpoints.reached)


@dataclass(frozen=True)
class PreparedParts:
    """The prepared transactions of one writer."""

    session: WriterSession

    def check(self) -> None:
        """Raise `RequestError` if the store cannot prepare transactions, as is the default."""
        ((most,),) = self.session.ask("select current_setting('max_prepared_transactions')::int")
        if not most:
            raise RequestError(
                "max_prepared_transactions of the store is 0, so two-phase commit is impossible;"
                " set it to at least twice the number of partitions, and restart the store"
            )

    def begin(self, part: Part) -> CopiedPart:
        """Begin the transaction of a part."""
        from psycopg import sql

        target = self.session.target
        with as_stack_error(target):
            session = self.session.of_task(part.epoch)
        into = copying(table(target), columns(target))
        closing = sql.SQL("prepare transaction {}").format(self._gid(part, session))
        return CopiedPart(target, session, into, closing)

    def open(self) -> Sequence[Part]:
        """Return the prepared parts."""
        return list(self.prepared())

    def prepared(self) -> Mapping[Part, datetime]:
        """Return the prepared parts with the times of their preparation."""
        with as_stack_error(self.session.target):
            place = self._place(self.session.open())
        found = self.session.ask(
            "select gid, prepared from pg_prepared_xacts where database = current_database()"
            " and starts_with(gid, %s) and split_part(gid, '@', 2) = %s order by gid",
            f"{_HEAD}{self.session.writer}:",
            place,
        )
        return {Part.of(gid.removeprefix(_HEAD).partition("@")[0]): since for gid, since in found}

    def commit(self, part: Part) -> None:
        """Commit a prepared transaction."""
        self._end("commit", part)

    def abort(self, part: Part) -> None:
        """Roll back a prepared transaction."""
        self._end("rollback", part)

    def _end(self, verb: str, part: Part) -> None:
        """End a transaction; wait if another session is ending it."""
        from psycopg import sql
        from psycopg.errors import ObjectNotInPrerequisiteState, UndefinedObject

        def has_ended() -> bool:
            session = self.session.open()
            try:
                session.execute(sql.SQL(f"{verb} prepared {{}}").format(self._gid(part, session)))
            except UndefinedObject:
                return True
            except ObjectNotInPrerequisiteState:
                return False
            return True

        with as_stack_error(self.session.target):
            wait_for(has_ended, _BUSY_AT_MOST_S, f"{part.name} is held by another session")

    def _gid(self, part: Part, session: Any) -> Any:
        # names of prepared transactions are shared by all databases of the server
        from psycopg import sql

        return sql.Literal(f"{_HEAD}{part.name}@{self._place(session)}")

    def _place(self, session: Any) -> str:
        # writers in another schema may have the same names
        place = json.dumps([session.info.dbname, parts_of(self.session.target)[0]])
        return blake2b(place.encode(), digest_size=8).hexdigest()
