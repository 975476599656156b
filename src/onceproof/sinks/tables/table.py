"""PostgreSQL tables that sinks write to: creating, reading and dropping them.

A table has the target's columns, and the `_batch` and `_attempt` that wrote each row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError, invalid
from onceproof.sinks import Target
from onceproof.sinks.tables.casts import TYPES, castings
from onceproof.sinks.tables.sessions import transaction

WROTE = {"_batch": "bigint", "_attempt": "bigint"}
_MADE = "made by onceproof"
_LOCKED_AT_MOST = "set lock_timeout = '10s'"
_ROWS_AT_ONCE = 20_000


def columns(target: Target) -> Mapping[str, str]:
    """Return the table's columns with PostgreSQL's types; raises for unsupported columns."""
    for name, kind in target.columns.items():
        if name in WROTE:
            raise RequestError(f"column {name} is reserved for the sink; rename your column")
        if kind not in TYPES:
            raise RequestError(
                f"column {name} has the unsupported type {kind}; use one of {', '.join(TYPES)}"
            )
    return {name: TYPES[kind] for name, kind in {**target.columns, **WROTE}.items()}


def table(target: Target) -> Any:
    """Return the table's quoted name."""
    from psycopg import sql

    return sql.Identifier(*parts_of(target))


def listed(names: Iterable[str], *row: str) -> Any:
    """Return quoted column names with commas between them, qualified by a row's name if given."""
    from psycopg import sql

    return sql.SQL(", ").join(sql.Identifier(*row, name) for name in names)


def copying(into: Any, names: Iterable[str]) -> Any:
    """Return the statement that copies CSV into these columns of a table."""
    from psycopg import sql

    return sql.SQL("copy {} ({}) from stdin (format csv)").format(into, listed(names))


def make(target: Target, *, unique: bool) -> None:
    """Create the schema and the table; idempotent.

    With `unique` the key is unique, and NULLs in it are equal.
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
    """Create the schema of a target if it does not exist, with the comment that `drop` checks."""
    from psycopg import sql

    schema, _ = parts_of(target)
    if not connection.execute("select 1 from pg_namespace where nspname = %s", [schema]).fetchone():
        connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
        connection.execute(
            sql.SQL("comment on schema {} is {}").format(sql.Identifier(schema), _MADE)
        )


def drop(target: Target) -> None:
    """Drop the table, and the schema if `make` created it and it is empty."""
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
    """Write the table as parquet in one transaction; return the number of rows and their digest.

    The digest is the sum of the rows' hashes, so it does not depend on their order. Without
    `signed` the rows have no `_batch` and `_attempt`. A column of another type is cast if the cast
    is exact; otherwise `StackError` is raised.
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
    """Return schema and table of the target's name, or raise."""
    parts = target.name.split(".")
    if len(parts) != 2 or not all(parts):
        raise RequestError(invalid("target", target.name, "schema.table"))
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
