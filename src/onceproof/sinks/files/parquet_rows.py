"""Rows in parquet files: the schema of a target's files, and reading their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.sinks import Target
from onceproof.sinks.files.folders import File

# Arrow's names of types, by Spark's names.
TYPES = {
    "bigint": "int64",
    "int": "int32",
    "string": "string",
    "double": "float64",
    "boolean": "bool_",
    "timestamp": "timestamp",
    "binary": "binary",
    "array<struct<key:string,value:binary>>": "headers",  # of Kafka's records
}
WROTE = ("_batch", "_attempt")


def schema(target: Target) -> Any:
    """Return the Arrow schema of the target's rows with `_batch` and `_attempt`, or raise."""
    import pyarrow as pa

    for name, kind in target.columns.items():
        if name in WROTE:
            raise RequestError(f"column {name} is reserved for the sink; rename your column")
        if kind not in TYPES:
            raise RequestError(
                f"column {name} has the unsupported type {kind}; use one of {', '.join(TYPES)}"
            )
    return pa.schema(
        [
            *((name, _arrow(kind)) for name, kind in target.columns.items()),
            *((name, pa.int64()) for name in WROTE),
        ]
    )


def signed(rows: Any, target: Target, batch: int) -> Any:
    """Return a record batch in the columns of the schema, with `_batch` and `_attempt`."""
    import pyarrow as pa

    wanted = schema(target)
    cells = [rows.column(name).cast(wanted.field(name).type) for name in target.columns]
    for value in (batch, target.attempt):
        cells.append(pa.repeat(pa.scalar(value, pa.int64()), rows.num_rows))
    return pa.record_batch(cells, schema=wanted)


def rows_of(file: File, target: Target) -> Iterator[Any]:
    """Yield a file's rows as record batches in the columns of the schema; raises `StackError`.

    Raises `FileNotFoundError` if the file is gone.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    wanted = schema(target)
    try:
        with (
            file.path.open("rb") as opened,
            parquet.ParquetFile(opened, coerce_int96_timestamp_unit="us") as found,
        ):
            for some in found.iter_batches():
                cells = [_cell(some, wanted.field(nth), file) for nth in range(len(wanted))]
                yield pa.record_batch(cells, schema=wanted)
    except (pa.ArrowException, KeyError) as error:
        why = " ".join(str(error).split())
        raise StackError(f"{file.path.name} of {target.name} cannot be read: {why}") from None


def _cell(rows: Any, wanted: Any, file: File) -> Any:
    import pyarrow as pa

    if wanted.name == "_batch" and "_batch" not in rows.schema.names:
        return pa.repeat(pa.scalar(file.batch, pa.int64()), rows.num_rows)
    found = rows.column(wanted.name)
    if pa.types.is_timestamp(found.type) and found.type.tz is None:
        found = found.cast(pa.timestamp("us")).cast(wanted.type)  # Spark's are UTC without a zone
    return found.cast(wanted.type)


def _arrow(kind: str) -> Any:
    import pyarrow as pa

    if kind == "timestamp":
        return pa.timestamp("us", "UTC")
    if TYPES[kind] == "headers":
        return pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return getattr(pa, TYPES[kind])()
