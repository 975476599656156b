"""A PostgreSQL table that a user's job writes to.

By default the table belongs to the run, in a schema created for it; `create` is the statement that
creates the table if the job does not. A table named by `table` is not changed unless it may be
emptied.
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
from onceproof.sinks.outputs import EMPTY, MAY_BE_EMPTIED, InitOutput, Place, is_own, output
from onceproof.sinks.outputs.all_columns import cells_of, write_table
from onceproof.sinks.tables import table as tables
from onceproof.sinks.tables.sessions import transaction
from onceproof.sinks.tables.sink import TableReader

NAMED_BY = "table"
_AS_THEY_ARE = {
    *("int2", "int4", "int8", "float4", "float8", "numeric", "bool"),
    *("text", "varchar", "bpchar", "timestamptz", "timestamp", "date"),
}


def prepare(target: Target) -> None:
    """Create the schema, and the table if `create` is given; raises if the table has rows."""
    with transaction(target) as connection:
        if is_own(target, NAMED_BY):
            tables.make_schema(connection, target)
        if create := target.options.get("create"):
            connection.execute(str(create).replace("{target}", target.name))
        if not _is_there(connection, target):
            return
        if target.options.get("empty"):
            _empty(connection, target)
        elif rows := _count(connection, target):
            raise RequestError(
                f"{target.name} has {rows:,} rows before the job starts; write empty: true to let"
                " the run remove them, or leave `table` out and let the job write to {target}"
            )


def drop(target: Target) -> None:
    """Drop the run's own table; empty a table that may be emptied."""
    if is_own(target, NAMED_BY):
        tables.drop(target)
    elif target.options.get("empty"):
        with transaction(target) as connection:
            if _is_there(connection, target):
                _empty(connection, target)


def read(target: Target, folder: Path) -> tuple[int, str]:
    """Write the table as parquet; raises `StackError` if it does not exist."""
    with transaction(target) as connection:
        _refuse_missing(connection, target)
        found = columns_of(connection, target)
        if missing := [name for name in target.columns if name not in found]:
            raise StackError(
                f"{target.name} has no column {', '.join(missing)}; write the scenario's `key` and"
                f" `columns` with the columns of the table, {', '.join(found)}"
            )
    return tables.read(target, folder, signed=False)


def read_all(target: Target, folder: Path) -> None:
    """Write the table as parquet with all columns; types without a counterpart become text."""
    import pyarrow as pa
    from psycopg import sql

    with transaction(target) as connection:
        _refuse_missing(connection, target)
        held = {one.name: one.type_display for one in _description(connection, target)}
        cells = [
            sql.SQL("{}" if kind.partition("(")[0] in _AS_THEY_ARE else "{}::text").format(
                sql.Identifier(name)
            )
            for name, kind in held.items()
        ]
        query = sql.SQL("select {} from {}").format(sql.SQL(", ").join(cells), tables.table(target))
        rows = connection.execute(query).fetchall()
    columns = list(zip(*rows, strict=True)) or [()] * len(held)
    found = {name: cells_of(name, some) for name, some in zip(held, columns, strict=True)}
    write_table(pa.table(found), folder)


@dataclass
class Watcher:
    """A reader of a table that the job may not have created yet."""

    target: Target
    _reader: TableReader = field(init=False)
    _is_there: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._reader = TableReader(self.target, keyed=False, signed=False)

    def look(self) -> Look:
        """Look at the whole table; return an empty look while it does not exist."""
        if not self._is_there:
            with transaction(self.target) as connection:
                self._is_there = _is_there(connection, self.target)
        return self._reader.look() if self._is_there else Look.of([])

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()


def check(target: Target) -> Iterator[Check]:
    """Yield the checks that a run can write to a user's table and that it has the columns."""
    try:
        with transaction(target) as connection:
            columns = columns_of(connection, target) if _is_there(connection, target) else None
            has_rows = columns is not None and _has_rows(connection, target)
    except OnceproofError as error:
        yield Check("output", False, str(error), "write table: schema.table, as in the store")
        return
    if columns is None:
        yield Check("output", True, f"{target.name} does not exist: the job or `create` creates it")
        return
    if has_rows and not target.options.get("empty"):
        yield Check("output", False, f"{target.name} has rows already", MAY_BE_EMPTIED)
    else:
        yield Check("output", True, target.name)
    missing = [one for one in target.columns if one not in columns]
    state = f"{target.name} has {', '.join(columns)}"
    remedy = f"no column {', '.join(missing)}; write `key` and `columns` of the table"
    yield Check("key and columns", not missing, state, remedy)


def starter(given: InitOutput) -> Iterator[str]:
    """Yield a commented example of the option `create`."""
    if given.is_own:
        yield "# If the job does not create its table:"
        columns = ", ".join(f"{one} bigint" for one in given.key)
        yield f'# create: "create table {{target}} ({columns}, amount bigint)"'


def columns_of(connection: Any, target: Target) -> list[str]:
    """Return the names of a table's columns."""
    return [one.name for one in _description(connection, target)]


def _description(connection: Any, target: Target) -> Any:
    from psycopg import sql

    nothing = sql.SQL("select * from {} limit 0").format(tables.table(target))
    return connection.execute(nothing).description


def _refuse_missing(connection: Any, target: Target) -> None:
    if not _is_there(connection, target):
        raise StackError(f"table {target.name} does not exist: the job has not created it")


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
        named_by=NAMED_BY,
        example="SCHEMA.TABLE",
        options={
            NAMED_BY: Field(NONEMPTY, "the table; left out: one of the run's own", None),
            "create": Field(NONEMPTY, "the statement that creates it, with {target}", None),
            "empty": EMPTY,
        },
        location=lambda target: target.name,
        prepare=prepare,
        reader=Watcher,
        read=read,
        drop=drop,
        check=check,
        read_all=read_all,
        starter=starter,
    ),
)
