"""The sessions of one writer with PostgreSQL: the driver's, which lasts, and those of its tasks.

A task copies its part of a batch in a session of its own.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from onceproof.sinks import Target
from onceproof.sinks.in_spark.part_tasks import as_csv
from onceproof.sinks.protocol import checked_writer
from onceproof.sinks.tables.sessions import connect, told
from onceproof.sinks.tables.table import parts_of

_LOCKED_AT_MOST = "set lock_timeout = '10s'"
_END = """select pg_terminate_backend(pid, 5000) from pg_stat_activity
 where pid <> pg_backend_pid() and datname = current_database()
 and starts_with(application_name, %s) and split_part(application_name, ' ', 4)::int8 < %s"""


@dataclass
class WriterSession:
    """The driver's session with the store. A copy that is sent to a task opens one of its own."""

    target: Target
    _session: Any = field(init=False, default=None, repr=False)

    def __reduce__(self) -> tuple[type, tuple[Target]]:
        return type(self), (self.target,)

    def __del__(self) -> None:
        self.close()

    @property
    def writer(self) -> str:
        """The name that decisions are kept under."""
        return checked_writer(self.target.writer or self.target.name)

    def ask(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; what the store refuses raises `StackError`."""
        with told(self.target):
            return self.run(query, *given)

    def run(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        """Run a statement with the tables' names put in for those in braces."""
        cursor = self.open().execute(self.filled(query), given or None)
        return cursor.fetchall() if cursor.description else []

    def open(self) -> Any:
        """Return the session, a new one if there is none or the last was cut off."""
        if self._session is None or self._session.closed:
            self._session = connect(self.target, self._named("driver", 0))
            self._session.autocommit = True
            self._session.execute(_LOCKED_AT_MOST)
        return self._session

    def close(self) -> None:
        """Close the session; the next statement opens one."""
        if self._session is not None:
            self._session.close()

    def of_task(self, epoch: int) -> Any:
        """Return a session for a task under an epoch; it waits for no lock longer than we do."""
        session = connect(self.target, self._named("task", epoch))
        session.autocommit = True
        session.execute(_LOCKED_AT_MOST)
        return session

    def end_tasks(self, epoch: int) -> None:
        """End the sessions of tasks under older epochs, with what they have not committed."""
        self.ask(_END, self._named("task", ""), epoch)

    def end_drivers(self) -> None:
        """End the other drivers' sessions."""
        self.ask(_END, self._named("driver", ""), 1)

    def filled(self, query: str) -> Any:
        """Return a statement with quoted names in the place of those in braces."""
        from psycopg import sql

        schema, table = parts_of(self.target)
        return sql.SQL(query).format(
            table=sql.Identifier(schema, table),
            staged=sql.Identifier(schema, f"{table}__staged"),
            writers=sql.Identifier(schema, "onceproof_writers"),
            decisions=sql.Identifier(schema, "onceproof_decisions"),
        )

    def _named(self, kind: str, epoch: int | str) -> str:
        """Return what a session of this writer is called; the store keeps 63 letters of it."""
        schema, _ = parts_of(self.target)
        digest = blake2b(f"{schema} {self.writer}".encode(), digest_size=8).hexdigest()
        return f"onceproof {kind} {digest} {epoch}"


@dataclass
class CopiedPart:
    """A transaction that is fed with rows by the statement `into`, and ended by `closing`.

    `more` are values of further columns behind the rows' own, the same in every row.
    """

    target: Target
    session: Any
    into: Any
    closing: Any
    more: tuple[str, ...] = ()
    _copy: Any = field(init=False, default=None)
    _held: ExitStack = field(init=False, default_factory=ExitStack)

    def write(self, rows: Any) -> None:
        """Copy some rows."""
        import pyarrow as pa

        with told(self.target):
            if self._copy is None:
                self.session.execute("begin")
                cursor = self._held.enter_context(self.session.cursor())
                self._copy = self._held.enter_context(cursor.copy(self.into))
            for number, value in enumerate(self.more):
                cells = pa.repeat(pa.scalar(value), rows.num_rows)
                rows = rows.append_column(f"_more_{number}", cells)
            self._copy.write(as_csv(rows))

    def pre_commit(self) -> None:
        """Make what was written durable."""
        with told(self.target):
            self._held.close()
            self.session.execute(self.closing)
        self.session.close()

    def abort(self) -> None:
        """Hang up, which rolls back what is not closed."""
        self.session.close()
