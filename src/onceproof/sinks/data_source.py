"""`format("onceproof_two_phase")`: the two-phase sinks as a data source of Spark, in append mode.

A second interface to the protocol of `two_phase_table` and `two_phase_files`, for queries that use
a format instead of `foreachBatch`. Spark runs the driver's side in processes that share no state,
so the run is identified by the run id, which only tasks can read; see `shared_run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError
from onceproof.sinks import Target, find_sink
from onceproof.sinks.files.parquet_rows import signed
from onceproof.sinks.in_spark.part_tasks import write_part
from onceproof.sinks.in_spark.source_options import NAME, columns_of, sink_of
from onceproof.sinks.protocol import Part
from onceproof.sinks.protocol.shared_run import SharedRun, StoreState, TaskResult

_APPEND_ONLY = (
    f"{NAME} supports append mode only; for update or complete mode pass the sink's `write` to"
    " foreachBatch, as find_sink(...)(target).write"
)
_RUN, _BATCH = "spark.jobGroup.id", "streaming.sql.batchId"  # local properties of Spark's tasks


def register(session: Any) -> None:
    """Register the format with a Spark session; idempotent."""
    session.dataSource.register(source())


def source() -> type:  # noqa: C901 - three small classes; their bases are too heavy to import above
    """Return the data source's class; Spark pickles it by value."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

    class Message(WriterCommitMessage):  # type: ignore[misc]
        def __init__(self, result: TaskResult) -> None:
            self.result = result

    class Writer(DataSourceStreamArrowWriter):  # type: ignore[misc]
        def __init__(self, batches: Batches) -> None:
            self.batches = batches

        def write(self, iterator: Iterator[Any]) -> Message:
            return Message(self.batches.write(iterator))

        def commit(self, messages: Sequence[Any], batchId: int) -> None:
            self.batches.commit(batchId, [one and one.result for one in messages])

        def abort(self, messages: Sequence[Any], batchId: int) -> None:
            self.batches.abort(batchId, [one and one.result for one in messages])

    class TwoPhaseSource(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return NAME

        def streamWriter(self, schema: Any, overwrite: bool) -> Writer:
            if overwrite:
                raise RequestError(_APPEND_ONLY)
            kind, target = sink_of(self.options, columns_of(schema))
            return Writer(Batches.of(kind, target))

        def writer(self, schema: Any, overwrite: bool) -> Any:  # noqa: ARG002
            raise RequestError(f"{NAME} cannot be written by a batch query; use writeStream")

    return TwoPhaseSource


@dataclass(frozen=True)
class Batches:
    """The picklable state that each process of a run starts from; `before` is the store's state."""

    kind: str
    target: Target
    before: StoreState

    @classmethod
    def of(cls, kind: str, target: Target) -> Batches:
        """Read the store's state; create the target before the first run of a writer."""
        sink: Any = find_sink(kind)(target)
        before = _shared(sink).state() if sink.is_prepared() else StoreState(0, "", -1)
        if not before.epoch:
            sink.prepare()
        return cls(kind, target, before)

    def write(self, rows: Iterator[Any]) -> TaskResult:
        """Write one part, in a task; for a decided batch only run the plan."""
        from pyspark import TaskContext

        context = TaskContext.get()
        batch = int(context.getLocalProperty(_BATCH))
        run = self._shared()
        epoch = run.join(context.getLocalProperty(_RUN), self.before)
        if batch <= self.before.newest:
            for _ in rows:
                continue
            return TaskResult(epoch, None, is_replay=True)
        part = Part(
            writer=run.protocol.writer.name,
            epoch=epoch,
            attempt=self.target.attempt,
            batch=batch,
            partition=context.partitionId(),
            task=context.taskAttemptId(),
        )
        own = (signed(some, self.target, batch) for some in rows)
        is_written = write_part(own, part, run.protocol.store.begin)
        return TaskResult(epoch, part if is_written else None, is_replay=False)

    def commit(self, batch: int, results: Sequence[TaskResult | None]) -> None:
        """Decide a batch and commit it, in the driver."""
        self._shared().commit(batch, results)

    def abort(self, batch: int, results: Sequence[TaskResult | None]) -> None:
        """Settle a batch whose query failed, in the driver."""
        self._shared().abort(batch, results)

    def _shared(self) -> SharedRun:
        return _shared(find_sink(self.kind)(self.target))


def _shared(sink: Any) -> SharedRun:
    protocol = sink.begun()
    return SharedRun(protocol, protocol.writer.memory)
