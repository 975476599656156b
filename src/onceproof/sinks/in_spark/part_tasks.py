"""Writing a batch as parts, each pre-committed by its task on an executor.

The driver's side is the same for every sink that records its batches.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.files.parquet_rows import signed
from onceproof.sinks.protocol import Memory, Part, Transaction
from onceproof.sinks.protocol.checkpoint_folder import CheckpointFolder
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.protocol.wal import Wal
from onceproof.sinks.protocol.writer import Writer

Begin = Callable[[Part], Transaction]


def writer_of(target: Target, name: str, memory: Memory) -> Writer:
    """Return the writer of one run, with the checkpoint of its query."""
    return Writer(name, target.attempt, memory, CheckpointFolder(target.checkpoint))


def write_by_parts(
    run: TwoPhase | Wal, target: Target, frame: Any, batch: int, begin: Begin
) -> None:
    """Write a batch by its protocol; for a batch that is already decided only run the plan."""
    name = run.writer.name
    run.write(
        batch,
        lambda epoch: write_parts(target, frame, batch, begin, name, epoch),
        lambda: drain(frame),
    )


def write_parts(
    target: Target, frame: Any, batch: int, begin: Begin, writer: str, epoch: int
) -> list[Part]:
    """Run the plan once; return the parts of the task attempts that won."""
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
    """Write one part and pre-commit it; returns False, without a part, if there are no rows."""
    batch, partition = part.batch, part.partition
    failpoints.reached("task_begin", batch, partition=partition)
    transaction: Transaction | None = None
    try:
        for some in by_half(rows, batch, partition):
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
        failpoints.reached("pre_committed", batch, partition=partition)
    failpoints.reached("task_done", batch, partition=partition)
    return transaction is not None


def chosen(target: Target, frame: Any) -> Any:
    """Return the frame with only the target's columns; raises if one is missing."""
    if missing := [name for name in target.columns if name not in frame.columns]:
        raise RequestError(
            f"the batch has no column {missing[0]}; it must have {', '.join(target.columns)}"
        )
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in target.columns))


def drain(frame: Any) -> None:
    """Run a batch's plan and discard the rows; a stateful query needs this for a decided batch."""
    frame.write.format("noop").mode("overwrite").save()


def by_half(rows: Iterator[Any], batch: int, partition: int) -> Iterator[Any]:
    """Yield a task's rows; reach the failpoint `task_mid` when half of them were consumed."""
    half = 0
    if failpoints.is_armed("task_mid", batch):
        whole = list(rows)
        half = sum(one.num_rows for one in whole) // 2
        rows = cut(whole, half)
    taken = 0
    for some in rows:
        yield some
        taken += some.num_rows
        if half and taken == half:
            failpoints.reached("task_mid", batch, partition=partition)


def cut(rows: list[Any], at: int) -> Iterator[Any]:
    """Yield the same rows, split so that a record batch ends after `at` rows."""
    before = 0
    for some in rows:
        inside = at - before
        before += some.num_rows
        if 0 < inside < some.num_rows:
            yield some.slice(0, inside)
            yield some.slice(inside)
        else:
            yield some


def as_csv(rows: Any) -> bytes:
    """Return rows as CSV; NULL is an empty field, an empty text is quoted."""
    import pyarrow.csv as csv

    text = io.BytesIO()
    csv.write_csv(rows, text, csv.WriteOptions(include_header=False))
    return text.getvalue()
