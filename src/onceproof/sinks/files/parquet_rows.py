"""Rows in files of parquet: the columns that a target's files have, and their rows read back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.sinks import Target
from onceproof.sinks.files.folders import File

# Spark's name of a type, and Arrow's.
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
    """Return the Arrow schema of the target's rows with who wrote them, or raise."""
    import pyarrow as pa

    for name, kind in target.columns.items():
        if name in WROTE:
            raise RequestError(f"column {name} is written by the sink itself: call yours otherwise")
        if kind not in TYPES:
            known = ", ".join(TYPES)
            raise RequestError(
                f"column {name} is {kind}, which no file here holds: write one of {known}"
            )
    return pa.schema(
        [
            *((name, _arrow(kind)) for name, kind in target.columns.items()),
            *((name, pa.int64()) for name in WROTE),
        ]
    )


def signed(rows: Any, target: Target, batch: int) -> Any:
    """Return a batch of rows in the columns of the schema, with who writes them."""
    import pyarrow as pa

    wanted = schema(target)
    cells = [rows.column(name).cast(wanted.field(name).type) for name in target.columns]
    for value in (batch, target.attempt):
        cells.append(pa.repeat(pa.scalar(value, pa.int64()), rows.num_rows))
    return pa.record_batch(cells, schema=wanted)


def rows_of(file: File, target: Target) -> Iterator[Any]:
    """Yield a file's rows, some at once, in the columns of the schema; raises `StackError`.

    A file that is gone raises `FileNotFoundError`.
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
        said = " ".join(str(error).split())
        raise StackError(f"{file.path.name} of {target.name} cannot be read: {said}") from None


def _cell(rows: Any, wanted: Any, file: File) -> Any:
    import pyarrow as pa

    if wanted.name == "_batch" and "_batch" not in rows.schema.names:
        return pa.repeat(pa.scalar(file.batch, pa.int64()), rows.num_rows)
    found = rows.column(wanted.name)
    if pa.types.is_timestamp(found.type) and found.type.tz is None:
        found = found.cast(pa.timestamp("us")).cast(wanted.type)  # Spark's own are UTC, unsaid
    return found.cast(wanted.type)


def _arrow(kind: str) -> Any:
    import pyarrow as pa

    if kind == "timestamp":
        return pa.timestamp("us", "UTC")
    if TYPES[kind] == "headers":
        return pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return getattr(pa, TYPES[kind])()
