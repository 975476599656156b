"""What every sink of a table has: how its table is looked at, and the writer's one connection.

A reader's looks are whole, and only the first and the odd one read all rows. A row is known by its
place and by the transaction that wrote it. A look fetches the rows of every transaction that had
not ended at the look before, so of one that was prepared then and committed since too. Rows that
are gone are noticed by their number: then all are read once more.
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


@dataclass
class TableReader:
    """Somebody who looks again and again; with `keyed` a row takes the place of its key's last.

    Rows that are not `signed` do not tell who wrote them. What was seen is held in memory, some 500
    bytes a row.
    """

    target: Target
    keyed: bool
    signed: bool = True
    told: dict[str, Row] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)  # of each key, where its row stands
    _oldest: int = 0  # the oldest transaction that was under way at the last look
    _connection: Any = None

    def look(self) -> Look:
        """Look at the whole table in one transaction; raises `StackError` if it is not told."""
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
                f"{self.target.name} could not be looked at: {' '.join(str(error).split())}"
            ) from None
        lost = [self.told.pop(place) for place in gone]
        self.told |= came
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
        """Close the connection; another look opens one and goes on from the last."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _news(self) -> tuple[int, dict[str, Row], list[str]]:
        """Return the oldest transaction under way, the rows that came, and places now empty."""
        from psycopg import sql

        oldest = self._ask("select pg_snapshot_xmin(pg_current_snapshot())::text")
        count = self._ask(sql.SQL("select count(*) from {}").format(table(self.target)))
        came = self._unknown(self._fetch(self._oldest))
        places = (self._places.get(row[0]) for row in came.values() if self.keyed)
        gone = [place for place in places if place in self.told]
        if len(self.told) + len(came) - len(gone) != count:
            found = self._fetch(0)
            came = self._unknown(found)
            gone = [place for place in self.told if place not in found]
        return int(oldest), came, gone

    def _ask(self, query: Any) -> Any:
        return self._connection.execute(query).fetchone()[0]

    def _unknown(self, found: dict[str, Row]) -> dict[str, Row]:
        return {place: row for place, row in found.items() if place not in self.told}

    def _fetch(self, oldest: int) -> dict[str, Row]:
        """Return the rows that this transaction or a later one wrote, by their places.

        Numbers of transactions begin again after 2^32: their age is what can be compared.
        """
        from psycopg import sql

        query = sql.SQL("copy (select {} from {}{}) to stdout (format binary)").format(
            sql.SQL(", ").join(self._shown()),
            table(self.target),
            sql.SQL(" where age(xmin) <= age({}::xid)").format(sql.Literal(str(oldest % 2**32)))
            if oldest
            else sql.SQL(""),
        )
        with self._connection.cursor().copy(query) as copy:
            copy.set_types(["text", "text", "text", "int8", "int8", "int8"])
            return {row[0]: row[1:] for row in copy.rows()}

    def _shown(self) -> list[Any]:
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
        """Return the SQL of one text of these columns, the same for -0.0 and 0.0."""
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
    """Hang up on a store that says nothing for too long: paused, it still holds the line."""

    def hang_up() -> None:
        with closing(socket.socket(fileno=os.dup(connection.fileno()))) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(LOOK_AT_MOST_S, hang_up)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
