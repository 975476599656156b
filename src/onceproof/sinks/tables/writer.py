"""Writing a batch to a table: each task of the executors copies its rows in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from onceproof import failpoints
from onceproof.sinks import Target
from onceproof.sinks.in_spark.part_tasks import as_csv, by_half, chosen
from onceproof.sinks.tables.sessions import transaction
from onceproof.sinks.tables.table import columns, copying

# Takes a connection, the target, and the rows of a partition as CSV; its caller commits.
Put = Callable[[Any, Target, Iterable[bytes]], None]


def write_batch(target: Target, frame: Any, batch: int, put: Put) -> None:
    """Write a batch by `put`, and reach the failpoints of a sink without a commit protocol.

    If `write_half` is armed, half of the batch is committed before the other half is written. The
    rows are then collected in the driver, so that the plan runs once.
    """
    rows = chosen(target, frame)
    if failpoints.is_armed("write_half", batch):
        first, rows = halves(rows)
        if first is not None:
            _write(target, first, batch, put)
            failpoints.reached("write_half", batch)
    _write(target, rows, batch, put)
    failpoints.reached("written", batch)
    failpoints.reached("sink_committed", batch)


def copy_in(connection: Any, into: Any, target: Target, rows: Iterable[bytes]) -> None:
    """Copy CSV rows, in the order of the target's columns, into a table."""
    with connection.cursor() as cursor, cursor.copy(copying(into, columns(target))) as copy:
        for some in rows:
            copy.write(some)


def halves(frame: Any) -> tuple[Any, Any]:
    """Return the rows in two frames; None and all rows if there are fewer than two."""
    rows = frame.toArrow()
    half = rows.num_rows // 2
    parts = (rows.slice(0, half), rows.slice(half))
    first, rest = (frame.sparkSession.createDataFrame(part, frame.schema) for part in parts)
    return (first, rest) if half else (None, rest)


def _write(target: Target, frame: Any, batch: int, put: Put) -> None:
    frame.mapInArrow(_task(target, batch, put), "partition int, rows bigint").collect()


def _task(target: Target, batch: int, put: Put) -> Callable[[Iterator[Any]], Iterator[Any]]:
    # pickled by value and sent to the executors
    def task(rows: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        failpoints.reached("task_begin", batch, partition=number)
        counts: list[int] = []
        with transaction(target) as connection:
            put(connection, target, _as_csv(rows, target, batch, number, counts))
        failpoints.reached("task_done", batch, partition=number)
        yield pa.RecordBatch.from_pydict(
            {"partition": pa.array([number], pa.int32()), "rows": [sum(counts)]}
        )

    return task


def _as_csv(
    rows: Iterator[Any], target: Target, batch: int, partition: int, counts: list[int]
) -> Iterator[bytes]:
    """Yield the rows as CSV with `_batch` and `_attempt`; append the number of each to `counts`."""
    for some in by_half(rows, batch, partition):
        counts.append(some.num_rows)
        yield as_csv(_signed(some, target, batch))


def _signed(rows: Any, target: Target, batch: int) -> Any:
    import pyarrow as pa

    cells = {
        name: cell.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(cell.type) else cell
        for name, cell in zip(rows.schema.names, rows.columns, strict=True)
    }
    for name, value in (("_batch", batch), ("_attempt", target.attempt)):
        cells[name] = pa.repeat(pa.scalar(value, pa.int64()), rows.num_rows)
    return pa.table(cells)
