"""A table of PostgreSQL that a job of somebody else writes to.

The run's own by default, in a schema that is made for it; `create` is the statement that makes the
table, if the job does not. One that `table` names is left as it is found, unless it may be emptied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.errors import OnceproofError, RequestError, StackError
from onceproof.schema.kinds import NONEMPTY, Field
from onceproof.setup.checks import Check
from onceproof.sinks import Look, Target
from onceproof.sinks.outputs import EMPTY, MAY_BE_EMPTIED, Asked, Place, is_own, output
from onceproof.sinks.tables import table as tables
from onceproof.sinks.tables.sessions import transaction
from onceproof.sinks.tables.sink import TableReader

CALLED = "table"


def prepare(target: Target) -> None:
    """Make the schema, and the table if there is a statement for it; refuse rows that are there."""
    with transaction(target) as connection:
        if is_own(target, CALLED):
            tables.make_schema(connection, target)
        if create := target.options.get("create"):
            connection.execute(str(create).replace("{target}", target.name))
        if not _is_there(connection, target):
            return
        if target.options.get("empty"):
            _empty(connection, target)
        elif rows := _count(connection, target):
            raise RequestError(
                f"{target.name} holds {rows:,} rows before the job has begun: write empty: true if"
                " they may be removed, or leave `table` out and let the job write to {target}"
            )


def drop(target: Target) -> None:
    """Remove what the run made; empty a table that may be emptied."""
    if is_own(target, CALLED):
        tables.drop(target)
    elif target.options.get("empty"):
        with transaction(target) as connection:
            if _is_there(connection, target):
                _empty(connection, target)


def read(target: Target, folder: Path) -> tuple[int, str]:
    """Write the table as parquet; one that is not there raises `StackError`."""
    with transaction(target) as connection:
        if not _is_there(connection, target):
            raise StackError(f"there is no table {target.name}: the job has made none")
        found = columns_of(connection, target)
        if missing := [name for name in target.columns if name not in found]:
            raise StackError(
                f"{target.name} has no column {', '.join(missing)}, but {', '.join(found)}: write"
                " the scenario's `key` and `columns` as the table has them"
            )
    return tables.read(target, folder, signed=False)


@dataclass
class Watcher:
    """Somebody who looks at a table that the job may not have made yet."""

    target: Target
    _reader: TableReader = field(init=False)
    _is_there: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._reader = TableReader(self.target, keyed=False, signed=False)

    def look(self) -> Look:
        """Look at the whole table; at nothing, as long as there is none."""
        if not self._is_there:
            with transaction(self.target) as connection:
                self._is_there = _is_there(connection, self.target)
        return self._reader.look() if self._is_there else Look.of([])

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()


def check(target: Target) -> Iterator[Check]:
    """Look whether a table of the user's can be written to by a run, and has the columns."""
    try:
        with transaction(target) as connection:
            columns = columns_of(connection, target) if _is_there(connection, target) else None
            has_rows = columns is not None and _has_rows(connection, target)
    except OnceproofError as error:
        yield Check("output", False, str(error), "write table: schema.table, as the store knows it")
        return
    if columns is None:
        yield Check(
            "output", True, f"there is no {target.name}: the job makes it, or `create` does"
        )
        return
    if has_rows and not target.options.get("empty"):
        yield Check("output", False, f"{target.name} holds rows already", MAY_BE_EMPTIED)
    else:
        yield Check("output", True, target.name)
    missing = [one for one in target.columns if one not in columns]
    told = f"{target.name} has {', '.join(columns)}"
    remedy = f"there is no {', '.join(missing)}: write `key` and `columns` as the table has them"
    yield Check("key and columns", not missing, told, remedy)


def starter(asked: Asked) -> Iterator[str]:
    """Say how a run makes a table of its own, as a comment."""
    if asked.is_own:
        yield "# Where the job does not make its table, this does:"
        columns = ", ".join(f"{one} bigint" for one in asked.key)
        yield f'# create: "create table {{target}} ({columns}, amount bigint)"'


def columns_of(connection: Any, target: Target) -> list[str]:
    """Return the columns that a table has."""
    from psycopg import sql

    nothing = sql.SQL("select * from {} limit 0").format(tables.table(target))
    return [one.name for one in connection.execute(nothing).description]


def _is_there(connection: Any, target: Target) -> bool:
    schema, name = tables.parts_of(target)
    found = connection.execute(
        "select 1 from pg_tables where schemaname = %s and tablename = %s", [schema, name]
    )
    return found.fetchone() is not None


def _has_rows(connection: Any, target: Target) -> bool:
    from psycopg import sql

    query = sql.SQL("select 1 from {} limit 1").format(tables.table(target))
    return connection.execute(query).fetchone() is not None


def _count(connection: Any, target: Target) -> int:
    from psycopg import sql

    query = sql.SQL("select count(*) from {}").format(tables.table(target))
    return int(connection.execute(query).fetchone()[0])


def _empty(connection: Any, target: Target) -> None:
    from psycopg import sql

    connection.execute(sql.SQL("truncate {}").format(tables.table(target)))


Table = output(
    "table",
    Place(
        store="postgresql",
        called=CALLED,
        example="SCHEMA.TABLE",
        options={
            CALLED: Field(NONEMPTY, "the table; left out: one of the run's own", None),
            "create": Field(NONEMPTY, "the statement that makes it, with {target}", None),
            "empty": EMPTY,
        },
        shown=lambda target: target.name,
        prepare=prepare,
        reader=Watcher,
        read=read,
        drop=drop,
        check=check,
        starter=starter,
    ),
)
