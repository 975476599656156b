"""A batch written as parts: by the tasks of the executors, each part pre-committed by its task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from onceproof import failpoints
from onceproof.sinks import Target
from onceproof.sinks.files.parquet_rows import signed
from onceproof.sinks.in_spark.task_rows import by_half, chosen
from onceproof.sinks.protocol import Part, Transaction

Begin = Callable[[Part], Transaction]


def write_parts(
    target: Target, frame: Any, batch: int, begin: Begin, writer: str, epoch: int
) -> list[Part]:
    """Run the plan once, and return the parts of the attempts at its tasks that won."""
    task = _task(target, batch, begin, writer, epoch)
    rows = chosen(target, frame).mapInArrow(task, "part string").collect()
    return [Part.of(row.part) for row in rows]


def _task(
    target: Target, batch: int, begin: Begin, writer: str, epoch: int
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def task(rows: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        partition, number = context.partitionId(), context.taskAttemptId()
        part = Part(writer, epoch, target.attempt, batch, partition, number)
        is_written = write_part((signed(some, target, batch) for some in rows), part, begin)
        yield pa.RecordBatch.from_pydict(
            {"part": pa.array([part.name] if is_written else [], pa.string())}
        )

    return task


def write_part(rows: Iterator[Any], part: Part, begin: Begin) -> bool:
    """Write one part and pre-commit it, all that a task does; one without rows is no part."""
    batch, told = part.batch, {"partition": part.partition}
    failpoints.reached("task_begin", batch, **told)
    transaction: Transaction | None = None
    try:
        for some in by_half(rows, batch, part.partition):
            if some.num_rows:
                transaction = transaction or begin(part)
                transaction.write(some)
        if transaction is not None:
            transaction.pre_commit()
    except BaseException:
        if transaction is not None:
            transaction.abort()
        raise
    if transaction is not None:
        failpoints.reached("pre_committed", batch, **told)
    failpoints.reached("task_done", batch, **told)
    return transaction is not None
