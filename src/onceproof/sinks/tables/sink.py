"""The common part of table sinks: reading the table, and the writer's connection.

Every look covers the whole table, but few looks fetch all rows. A row is identified by its place
(ctid) and by the transaction that wrote it (xmin). A look fetches the rows of all transactions that
had not ended at the previous look, including transactions that were prepared then and committed
since. Removed rows are detected by the row count; then all rows are read again.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.runs.plan import Writes
from onceproof.sinks import Look, Reader, Target
from onceproof.sinks.tables.casts import TYPES
from onceproof.sinks.tables.memory import TableMemory
from onceproof.sinks.tables.sessions import connect
from onceproof.sinks.tables.table import WROTE, parts_of, read, table
from onceproof.sinks.tables.writer_session import WriterSession

_WRITERS = "select writer from {writers} order by writer"
LOOK_AT_MOST_S = 20.0
# Of a row: key, value, version, batch, attempt.
Row = tuple[str, str, int | None, int | None, int | None]


@dataclass(frozen=True)
class TableSink:
    """The common part of sinks that write to a PostgreSQL table."""

    target: Target

    store = "postgresql"
    atomic_batches = False
    ordered = False
    writes = Writes.APPEND

    def open(self) -> tuple[int, int]:
        """Return (0, 0): no transaction outlives its task."""
        return 0, 0

    def reader(self) -> Reader:
        """Return a reader that polls the table."""
        return TableReader(self.target, keyed=self.writes is Writes.UPSERT)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write the table as parquet."""
        return read(self.target, folder)

    def writers(self) -> list[str]:
        """Return the writers of the table's schema; raises if no sink records batches there."""
        if not TableMemory(self._session).is_made():
            schema, _ = parts_of(self.target)
            raise RequestError(
                f"schema {schema} has no table onceproof_writers, in which sinks record their"
                f" batches, so {self.target.name} has no writers; name the table that they write"
            )
        return [name for (name,) in self._session.ask(_WRITERS)]

    @cached_property
    def _session(self) -> WriterSession:
        return WriterSession(self.target)


@dataclass
class TableReader:
    """A reader that polls a table; with `keyed` a row replaces the previous row of its key.

    Without `signed` the rows have no `_batch` and `_attempt`. All rows seen are kept in memory,
    about 500 bytes per row.
    """

    target: Target
    keyed: bool
    signed: bool = True
    seen: dict[str, Row] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)  # the place of each key's row
    _oldest: int = 0  # the oldest transaction in progress at the last look
    _connection: Any = None

    def look(self) -> Look:
        """Look at the whole table in one transaction; raises `StackError` if the store fails."""
        import psycopg

        try:
            if self._connection is None:
                self._connection = connect(self.target)
                self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                self._connection.read_only = True
            with _hung_up(self._connection), self._connection.transaction():
                oldest, came, gone = self._news()
        except (psycopg.Error, OSError) as error:
            self.close()
            raise StackError(
                f"{self.target.name} cannot be read: {' '.join(str(error).split())}"
            ) from None
        lost = [self.seen.pop(place) for place in gone]
        self.seen |= came
        self._oldest = oldest
        self._places |= {row[0]: place for place, row in came.items()} if self.keyed else {}
        return Look.of(
            [
                (copies, key, value, version, None, batch, attempt)
                for copies, rows in ((-1, lost), (1, came.values()))
                for key, value, version, batch, attempt in rows
            ]
        )

    def close(self) -> None:
        """Close the connection; the next look opens one and continues from the last look."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _news(self) -> tuple[int, dict[str, Row], list[str]]:
        """Return the oldest transaction in progress, the new rows, and the removed places."""
        from psycopg import sql

        oldest = self._ask("select pg_snapshot_xmin(pg_current_snapshot())::text")
        count = self._ask(sql.SQL("select count(*) from {}").format(table(self.target)))
        came = self._unseen(self._fetch(self._oldest))
        places = (self._places.get(row[0]) for row in came.values() if self.keyed)
        gone = [place for place in places if place in self.seen]
        if len(self.seen) + len(came) - len(gone) != count:
            found = self._fetch(0)
            came = self._unseen(found)
            gone = [place for place in self.seen if place not in found]
        return int(oldest), came, gone

    def _ask(self, query: Any) -> Any:
        return self._connection.execute(query).fetchone()[0]

    def _unseen(self, found: dict[str, Row]) -> dict[str, Row]:
        return {place: row for place, row in found.items() if place not in self.seen}

    def _fetch(self, oldest: int) -> dict[str, Row]:
        """Return the rows that this transaction or a later one wrote, by their places.

        Transaction ids wrap around after 2^32, so their ages are compared.
        """
        from psycopg import sql

        query = sql.SQL("copy (select {} from {}{}) to stdout (format binary)").format(
            sql.SQL(", ").join(self._cells()),
            table(self.target),
            sql.SQL(" where age(xmin) <= age({}::xid)").format(sql.Literal(str(oldest % 2**32)))
            if oldest
            else sql.SQL(""),
        )
        with self._connection.cursor().copy(query) as copy:
            copy.set_types(["text", "text", "text", "int8", "int8", "int8"])
            return {row[0]: row[1:] for row in copy.rows()}

    def _cells(self) -> list[Any]:
        from psycopg import sql

        target = self.target
        values = [name for name in target.columns if name not in target.key]
        version = sql.Identifier(target.version) if target.version else sql.SQL("null")
        return [
            sql.SQL("ctid::text || xmin::text"),
            self._text(target.key),
            self._text(values),
            sql.SQL("{}::int8").format(version),
            *(sql.Identifier(one) if self.signed else sql.SQL("null::int8") for one in WROTE),
        ]

    def _text(self, names: Iterable[str]) -> Any:
        """Return the SQL for one text of these columns, the same for -0.0 and 0.0."""
        from psycopg import sql

        cells = (
            sql.SQL("{}::{} + 0.0::float8" if kind == "double" else "{}::{}").format(
                sql.Identifier(name), sql.SQL(TYPES[kind])
            )
            for name in names
            for kind in [self.target.columns[name]]
        )
        return sql.SQL("json_build_array({})::text").format(sql.SQL(", ").join(cells))


@contextmanager
def _hung_up(connection: Any) -> Iterator[None]:
    """Cut the connection to a store that does not answer: a paused store keeps it open."""

    def hang_up() -> None:
        with closing(socket.socket(fileno=os.dup(connection.fileno()))) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(LOOK_AT_MOST_S, hang_up)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
