"""The PostgreSQL sessions of one writer: the driver's long-lived one, and those of its tasks.

Each task copies its part of a batch in its own session.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from onceproof.sinks import Target
from onceproof.sinks.in_spark.part_tasks import as_csv
from onceproof.sinks.protocol import checked_writer
from onceproof.sinks.tables.sessions import as_stack_error, connect
from onceproof.sinks.tables.table import parts_of

_LOCKED_AT_MOST = "set lock_timeout = '10s'"
_END = """select pg_terminate_backend(pid, 5000) from pg_stat_activity
 where pid <> pg_backend_pid() and datname = current_database()
 and starts_with(application_name, %s) and split_part(application_name, ' ', 4)::int8 < %s"""


@dataclass
class WriterSession:
    """The driver's session with the store; a pickled copy opens its own session."""

    target: Target
    _session: Any = field(init=False, default=None, repr=False)

    def __reduce__(self) -> tuple[type, tuple[Target]]:
        return type(self), (self.target,)

    def __del__(self) -> None:
        self.close()

    @property
    def writer(self) -> str:
        """The name under which decisions are recorded."""
        return checked_writer(self.target.writer or self.target.name)

    def ask(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; errors of the store raise `StackError`."""
        with as_stack_error(self.target):
            return self.run(query, *given)

    def run(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        """Run a statement with the tables' names in place of those in braces; return its rows."""
        cursor = self.open().execute(self.filled(query), given or None)
        return cursor.fetchall() if cursor.description else []

    def open(self) -> Any:
        """Return the session; open a new one if it is closed or was cut off."""
        if self._session is None or self._session.closed:
            self._session = connect(self.target, self._named("driver", 0))
            self._session.autocommit = True
            self._session.execute(_LOCKED_AT_MOST)
        return self._session

    def close(self) -> None:
        """Close the session; the next statement opens a new one."""
        if self._session is not None:
            self._session.close()

    def of_task(self, epoch: int) -> Any:
        """Return a task's session for an epoch, with the same lock timeout as the driver's."""
        session = connect(self.target, self._named("task", epoch))
        session.autocommit = True
        session.execute(_LOCKED_AT_MOST)
        return session

    def end_tasks(self, epoch: int) -> None:
        """Terminate the sessions of older epochs' tasks, which rolls back their open rows."""
        self.ask(_END, self._named("task", ""), epoch)

    def end_drivers(self) -> None:
        """Terminate the sessions of other drivers."""
        self.ask(_END, self._named("driver", ""), 1)

    def filled(self, query: str) -> Any:
        """Return a statement with quoted names in place of those in braces."""
        from psycopg import sql

        schema, table = parts_of(self.target)
        return sql.SQL(query).format(
            table=sql.Identifier(schema, table),
            staged=sql.Identifier(schema, f"{table}__staged"),
            writers=sql.Identifier(schema, "onceproof_writers"),
            decisions=sql.Identifier(schema, "onceproof_decisions"),
        )

    def _named(self, kind: str, epoch: int | str) -> str:
        # PostgreSQL keeps 63 bytes of an application name, hence the digest
        schema, _ = parts_of(self.target)
        digest = blake2b(f"{schema} {self.writer}".encode(), digest_size=8).hexdigest()
        return f"onceproof {kind} {digest} {epoch}"


@dataclass
class CopiedPart:
    """A transaction that copies rows by the statement `into` and ends with `closing`.

    `more` are constant values of further columns after the rows' own.
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

        with as_stack_error(self.target):
            if self._copy is None:
                self.session.execute("begin")
                cursor = self._held.enter_context(self.session.cursor())
                self._copy = self._held.enter_context(cursor.copy(self.into))
            for number, value in enumerate(self.more):
                cells = pa.repeat(pa.scalar(value), rows.num_rows)
                rows = rows.append_column(f"_more_{number}", cells)
            self._copy.write(as_csv(rows))

    def pre_commit(self) -> None:
        """Make the rows durable."""
        with as_stack_error(self.target):
            self._held.close()
            self.session.execute(self.closing)
        self.session.close()

    def abort(self) -> None:
        """Close the session, which rolls back an open transaction."""
        self.session.close()
