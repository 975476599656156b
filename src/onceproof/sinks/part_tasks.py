"""A batch written as parts: by the tasks of the executors, each part pre-committed by its task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.parquet_rows import signed
from onceproof.sinks.protocol import Part, Transaction

Begin = Callable[[Part], Transaction]


def write_parts(
    target: Target, frame: Any, batch: int, begin: Begin, writer: str, epoch: int
) -> list[Part]:
    """Run the plan once, and return the parts of the attempts at its tasks that won."""
    if missing := [name for name in target.columns if name not in frame.columns]:
        raise RequestError(
            f"the batch has no column {missing[0]}: write {', '.join(target.columns)}"
        )
    rows = frame.select(*(f"`{name.replace('`', '``')}`" for name in target.columns))
    task = _task(target, batch, begin, writer, epoch)
    return [Part.of(row.part) for row in rows.mapInArrow(task, "part string").collect()]


def _task(
    target: Target, batch: int, begin: Begin, writer: str, epoch: int
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def task(rows: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        partition, number = context.partitionId(), context.taskAttemptId()
        part = Part(writer, epoch, target.attempt, batch, partition, number)
        write_part((signed(some, target, batch) for some in rows), part, begin)
        yield pa.RecordBatch.from_pydict({"part": [part.name]})

    return task


def write_part(rows: Iterator[Any], part: Part, begin: Begin) -> None:
    """Write one part and pre-commit it: all that a task does."""
    batch, told = part.batch, {"partition": part.partition}
    failpoints.reached("task_begin", batch, **told)
    transaction = begin(part)
    try:
        half = 0
        if failpoints.is_armed("task_mid", batch):
            whole = list(rows)
            half = sum(one.num_rows for one in whole) // 2
            rows = _cut(whole, half)
        written = 0
        for some in rows:
            transaction.write(some)
            written += some.num_rows
            if half and written == half:
                failpoints.reached("task_mid", batch, **told)
        transaction.pre_commit()
    except BaseException:
        transaction.abort()
        raise
    failpoints.reached("pre_committed", batch, **told)
    failpoints.reached("task_done", batch, **told)


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
