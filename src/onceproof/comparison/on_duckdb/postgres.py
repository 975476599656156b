"""A PostgreSQL table as a parquet file: one snapshot, a binary COPY, one batch in memory."""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onceproof.comparison.kinds import WIDEST_DECIMAL
from onceproof.comparison.places import PostgresTable
from onceproof.errors import RequestError
from onceproof.setup.libraries import PSYCOPG, refuse_missing

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 20_000
_TYPES = {
    "bool": "bool_",
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "float4": "float32",
    "float8": "float64",
    "text": "string",
    "bytea": "binary",
    "date": "date32",
}


@dataclass(frozen=True)
class _Field:
    """A column: the SQL that reads it, its type in PostgreSQL, and its type in the file."""

    name: str
    sql: Any
    native: str
    arrow: pa.DataType


def copy_to_parquet(table: PostgresTable, target: Path) -> None:
    """Copy a table in one transaction, or raise `RequestError` if it cannot be read.

    Types that parquet lacks (uuid, json, arrays, ranges ...) are read as PostgreSQL's text of them.
    A numeric without a scale gets the largest scale of its values.
    """
    refuse_missing([PSYCOPG])
    import psycopg

    try:
        with psycopg.connect(table.address, connect_timeout=10) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            fields = [_field(connection, table, column) for column in _columns(connection, table)]
            _copy(connection, table, fields, target)
    except (psycopg.Error, decimal.InvalidOperation, ValueError) as error:
        why = " ".join(str(error).split())
        raise RequestError(f"the table {table.name} cannot be read: {why}") from error


def _named(table: PostgresTable) -> Any:
    from psycopg import sql

    return sql.Identifier(*table.table.split("."))


def _columns(connection: Any, table: PostgresTable) -> list[tuple[str, str, int]]:
    from psycopg import sql

    nothing = sql.SQL("select * from {} limit 0").format(_named(table))
    names = [column.name for column in connection.execute(nothing).description]
    rows = connection.execute(
        "select a.attname, t.typname, a.atttypmod from pg_attribute a "
        "join pg_type t on t.oid = a.atttypid where a.attrelid = %s::regclass "
        "and a.attnum > 0 and not a.attisdropped order by a.attnum",
        [_named(table).as_string(connection)],
    ).fetchall()
    if [name for name, _, _ in rows] != names:
        raise ValueError("its columns changed while they were read")
    return rows  # type: ignore[no-any-return]


def _field(connection: Any, table: PostgresTable, column: tuple[str, str, int]) -> _Field:
    import pyarrow as pa
    from psycopg import sql

    name, native, modifier = column
    value: sql.Composable = sql.Identifier(name)
    if native in ("varchar", "bpchar", "name"):
        native = "text"
        value = sql.SQL("{}::text").format(value)
    if native in _TYPES:
        return _Field(name, value, native, getattr(pa, _TYPES[native])())
    if native in ("timestamp", "timestamptz"):
        return _Field(name, value, native, pa.timestamp("us", "UTC" if "z" in native else None))
    if native == "time":
        return _Field(name, value, native, pa.time64("us"))
    if native == "numeric":
        return _Field(name, value, native, _decimal(connection, table, name, modifier))
    return _Field(name, sql.SQL("{}::text").format(value), "text", pa.string())


def _decimal(connection: Any, table: PostgresTable, name: str, modifier: int) -> pa.DataType:
    import pyarrow as pa
    from psycopg import sql

    if modifier >= 4:
        digits, scale = (modifier - 4) >> 16, (((modifier - 4) & 0x7FF) ^ 0x400) - 0x400
        digits, scale = max(digits - min(scale, 0), scale), max(scale, 0)
    else:
        query = sql.SQL(
            "select coalesce(max(scale({0})), 0), coalesce(max(length(trunc(abs({0}))::text)), 1), "
            "coalesce(bool_or({0} in ('NaN', 'Infinity', '-Infinity')), false) from {1}"
        ).format(sql.Identifier(name), _named(table))
        scale, before, is_odd = connection.execute(query).fetchone()
        digits = before + scale
        if is_odd:
            raise ValueError(f"column {name} has NaN or Infinity, which a decimal cannot be")
    if digits > WIDEST_DECIMAL:
        raise ValueError(f"column {name} needs {digits} digits, but a decimal has at most 38")
    return pa.decimal128(digits, scale)


def _copy(connection: Any, table: PostgresTable, fields: Sequence[_Field], target: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from psycopg import sql

    schema = pa.schema([(field.name, field.arrow) for field in fields])
    query = sql.SQL("copy (select {} from {}) to stdout (format binary)").format(
        sql.SQL(", ").join(field.sql for field in fields), _named(table)
    )
    with connection.cursor().copy(query) as copy, pq.ParquetWriter(target, schema) as writer:
        copy.set_types([field.native for field in fields])
        for rows in _batches(copy.rows()):
            columns = zip(*rows, strict=True)
            arrays = [
                pa.array(values, field.arrow) for values, field in zip(columns, fields, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while batch := list(itertools.islice(rows, _ROWS_AT_ONCE)):
        yield batch
