"""Tables of PostgreSQL that sinks write to: made, read whole and dropped.

A table has the target's columns, and `_batch` and `_attempt` of whoever wrote the row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.tables.casts import TYPES, castings
from onceproof.sinks.tables.sessions import transaction

WROTE = {"_batch": "bigint", "_attempt": "bigint"}
_MADE = "made by onceproof"
_LOCKED_AT_MOST = "set lock_timeout = '10s'"
_ROWS_AT_ONCE = 20_000


def columns(target: Target) -> Mapping[str, str]:
    """Return the table's columns with PostgreSQL's types, or raise for what it cannot have."""
    for name, kind in target.columns.items():
        if name in WROTE:
            raise RequestError(f"column {name} is written by the sink itself: call yours otherwise")
        if kind not in TYPES:
            raise RequestError(
                f"column {name} is {kind}, which no table here holds: write {', '.join(TYPES)}"
            )
    return {name: TYPES[kind] for name, kind in {**target.columns, **WROTE}.items()}


def table(target: Target) -> Any:
    """Return the table's quoted name."""
    from psycopg import sql

    return sql.Identifier(*parts_of(target))


def listed(names: Iterable[str], *row: str) -> Any:
    """Return quoted names with commas between them, of the row that is named."""
    from psycopg import sql

    return sql.SQL(", ").join(sql.Identifier(*row, name) for name in names)


def copying(into: Any, names: Iterable[str]) -> Any:
    """Return the statement that copies CSV into these columns of a table."""
    from psycopg import sql

    return sql.SQL("copy {} ({}) from stdin (format csv)").format(into, listed(names))


def make(target: Target, *, unique: bool) -> None:
    """Make the schema and the table; a second time changes nothing.

    With `unique` the key is, and NULL is a value of it like others.
    """
    from psycopg import sql

    parts = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
        for name, kind in columns(target).items()
    ]
    if unique:
        parts.append(sql.SQL("unique nulls not distinct ({})").format(listed(target.key)))
    with transaction(target) as connection:
        make_schema(connection, target)
        connection.execute(
            sql.SQL("create table if not exists {} ({})").format(
                table(target), sql.SQL(", ").join(parts)
            )
        )


def make_schema(connection: Any, target: Target) -> None:
    """Make the schema of a target unless it is there, with the mark by which `drop` knows it."""
    from psycopg import sql

    schema, _ = parts_of(target)
    if not connection.execute("select 1 from pg_namespace where nspname = %s", [schema]).fetchone():
        connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
        connection.execute(
            sql.SQL("comment on schema {} is {}").format(sql.Identifier(schema), _MADE)
        )


def drop(target: Target) -> None:
    """Drop the table, and the schema if `make` made it and nothing else is in it."""
    import psycopg
    from psycopg import sql

    schema, _ = parts_of(target)
    with transaction(target) as connection:
        connection.execute(_LOCKED_AT_MOST)
        connection.execute(sql.SQL("drop table if exists {}").format(table(target)))
        made = connection.execute(
            "select 1 from pg_namespace where nspname = %s"
            " and obj_description(oid, 'pg_namespace') = %s",
            [schema, _MADE],
        ).fetchone()
        try:
            with connection.transaction():
                if made:
                    connection.execute(sql.SQL("drop schema {}").format(sql.Identifier(schema)))
        except psycopg.errors.DependentObjectsStillExist:
            return


def read(target: Target, folder: Path, *, signed: bool = True) -> tuple[int, str]:
    """Write the table as parquet, as one transaction sees it; return its rows and their digest.

    The digest is the sum of a hash of every row, so their order does not count. Without `signed`
    its rows do not tell who wrote them. A column of another type is read as ours if that holds its
    values to the last digit; else `StackError` is raised.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet
    from psycopg import sql

    held = {name: kind for name, kind in columns(target).items() if signed or name not in WROTE}
    schema = pa.schema([(name, _arrow(kind)) for name, kind in held.items()])
    reading = sql.SQL("copy (select {} from {}) to stdout (format binary)")
    count, digest = 0, 0
    folder.mkdir(parents=True, exist_ok=True)
    with (
        parquet.ParquetWriter(folder / "rows.parquet", schema) as writer,
        transaction(target) as connection,
        connection.cursor().copy(
            reading.format(castings(connection, table(target), target.name, held), table(target))
        ) as copy,
    ):
        copy.set_types(list(held.values()))
        for rows in _some(copy.rows()):
            count += len(rows)
            digest += sum(map(_hash, rows))
            cells = zip(*rows, strict=True)
            arrays = [pa.array(cell, kind) for cell, kind in zip(cells, schema.types, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return count, f"{digest % (1 << 128):032x}"


def parts_of(target: Target) -> list[str]:
    """Return schema and table, or raise for a name that is no table."""
    parts = target.name.split(".")
    if len(parts) != 2 or not all(parts):
        raise RequestError(f"target {target.name!r} is no table: write schema.table")
    return parts


def _arrow(kind: str) -> Any:
    import pyarrow as pa

    return {
        "int8": pa.int64(),
        "int4": pa.int32(),
        "text": pa.string(),
        "float8": pa.float64(),
        "bool": pa.bool_(),
        "timestamptz": pa.timestamp("us", "UTC"),
    }[kind]


def _some(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
        yield some


def _hash(row: tuple[Any, ...]) -> int:
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest(), "big")
