"""A batch written to a table: by the tasks of the executors, a transaction each, told by COPY."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.tables import columns, listed, transaction

# Takes a connection, the target, and the rows of a partition as CSV; its caller commits.
Put = Callable[[Any, Target, Iterable[bytes]], None]


def write_batch(target: Target, frame: Any, batch: int, put: Put) -> None:
    """Write a batch by `put` and come to the failpoints of a sink that just writes.

    Where `write_half` is armed, half of the batch is written and committed before the other half
    is begun: the rows are held here for that, so that the plan runs once.
    """
    rows = frame.select(*(f"`{name.replace('`', '``')}`" for name in _named(target, frame)))
    if failpoints.is_armed("write_half", batch):
        first, rows = _halves(rows)
        if first is not None:
            _write(target, first, batch, put)
            failpoints.reached("write_half", batch)
    _write(target, rows, batch, put)
    failpoints.reached("written", batch)
    failpoints.reached("sink_committed", batch)


def copy_in(connection: Any, into: Any, target: Target, rows: Iterable[bytes]) -> None:
    """Copy rows, given as CSV in the order of the columns, into a table."""
    from psycopg import sql

    query = sql.SQL("copy {} ({}) from stdin (format csv)").format(into, listed(columns(target)))
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for some in rows:
            copy.write(some)


def _named(target: Target, frame: Any) -> Iterable[str]:
    if missing := [name for name in target.columns if name not in frame.columns]:
        raise RequestError(
            f"the batch has no column {missing[0]}: write {', '.join(target.columns)}"
        )
    return target.columns


def _halves(frame: Any) -> tuple[Any, Any]:
    """Return the rows in two frames; None and all of them where they are fewer than two."""
    rows = frame.toArrow()
    half = rows.num_rows // 2
    parts = (rows.slice(0, half), rows.slice(half))
    first, rest = (frame.sparkSession.createDataFrame(part, frame.schema) for part in parts)
    return (first, rest) if half else (None, rest)


def _write(target: Target, frame: Any, batch: int, put: Put) -> None:
    frame.mapInArrow(_task(target, batch, put), "partition int, rows bigint").collect()


def _task(target: Target, batch: int, put: Put) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what a task does with its partition; it travels to the executors by value."""

    def task(rows: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        told = {"partition": number}
        failpoints.reached("task_begin", batch, **told)
        counts: list[int] = []
        with transaction(target) as connection:
            put(connection, target, _as_csv(rows, target, batch, number, counts))
        failpoints.reached("task_done", batch, **told)
        yield pa.RecordBatch.from_pydict(
            {"partition": pa.array([number], pa.int32()), "rows": [sum(counts)]}
        )

    return task


def _as_csv(
    rows: Iterator[Any], target: Target, batch: int, partition: int, counts: list[int]
) -> Iterator[bytes]:
    """Yield the rows as CSV, and come to `task_mid` when half of them are given away."""
    half = 0
    if failpoints.is_armed("task_mid", batch):
        whole = list(rows)
        half = sum(one.num_rows for one in whole) // 2
        rows = _cut(whole, half)
    for some in rows:
        counts.append(some.num_rows)
        yield _csv(some, target, batch)
        if half and sum(counts) == half:
            failpoints.reached("task_mid", batch, partition=partition)


def _cut(rows: list[Any], at: int) -> Iterator[Any]:
    """Yield the same rows so that a piece ends after `at` of them."""
    before = 0
    for some in rows:
        inside = at - before
        before += some.num_rows
        if 0 < inside < some.num_rows:
            yield some.slice(0, inside)
            yield some.slice(inside)
        else:
            yield some


def _csv(rows: Any, target: Target, batch: int) -> bytes:
    """Return rows as CSV with who wrote them; NULL is nothing, an empty text is quoted."""
    import pyarrow as pa
    import pyarrow.csv as csv

    cells = {
        name: cell.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(cell.type) else cell
        for name, cell in zip(rows.schema.names, rows.columns, strict=True)
    }
    for name, value in (("_batch", batch), ("_attempt", target.attempt)):
        cells[name] = pa.repeat(pa.scalar(value, pa.int64()), rows.num_rows)
    text = io.BytesIO()
    csv.write_csv(pa.table(cells), text, csv.WriteOptions(include_header=False))
    return text.getvalue()
