"""`format("onceproof_two_phase")`: the two-phase sinks as a data source of Spark, in append mode.

A second shell around the protocol of `two_phase_table` and `two_phase_files`, for those who would
rather write a format than `foreachBatch`. Spark runs its driver's side in processes that know
nothing of each other, so the run is told by the run's id, which only tasks see: `shared_run`.
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
from onceproof.sinks.protocol.shared_run import Known, SharedRun, Told

_APPEND_ONLY = (
    f"{NAME} takes append mode only: for update and complete mode give the sink's `write` to"
    " foreachBatch, as find_sink(...)(target).write"
)
_RUN, _BATCH = "spark.jobGroup.id", "streaming.sql.batchId"  # as Spark tells its tasks


def register(session: Any) -> None:
    """Let the queries of a session write to the format; a second time changes nothing."""
    session.dataSource.register(source())


def source() -> type:  # noqa: C901 - three small classes, whose own are too heavy to import above
    """Return the data source's class; it travels to Spark's processes by value."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

    class Message(WriterCommitMessage):  # type: ignore[misc]
        def __init__(self, told: Told) -> None:
            self.told = told

    class Writer(DataSourceStreamArrowWriter):  # type: ignore[misc]
        def __init__(self, batches: Batches) -> None:
            self.batches = batches

        def write(self, iterator: Iterator[Any]) -> Message:
            return Message(self.batches.write(iterator))

        def commit(self, messages: Sequence[Any], batchId: int) -> None:
            self.batches.commit(batchId, [one and one.told for one in messages])

        def abort(self, messages: Sequence[Any], batchId: int) -> None:
            self.batches.abort(batchId, [one and one.told for one in messages])

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
            raise RequestError(f"{NAME} is written to by a stream: write writeStream")

    return TwoPhaseSource


@dataclass(frozen=True)
class Batches:
    """What each process of a run is made from, and what the store knew when it was made."""

    kind: str
    target: Target
    known: Known

    @classmethod
    def of(cls, kind: str, target: Target) -> Batches:
        """Ask the store; for the first run of a writer, make the target."""
        sink: Any = find_sink(kind)(target)
        known = _shared(sink).known() if sink.is_prepared() else Known(0, "", -1)
        if not known.epoch:
            sink.prepare()
        return cls(kind, target, known)

    def write(self, rows: Iterator[Any]) -> Told:
        """Write one part, in a task; of a batch that is decided only the plan is run."""
        from pyspark import TaskContext

        context = TaskContext.get()
        batch = int(context.getLocalProperty(_BATCH))
        run = self._shared()
        epoch = run.join(context.getLocalProperty(_RUN), self.known)
        if batch <= self.known.newest:
            for _ in rows:
                continue
            return Told(epoch, None, is_replay=True)
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
        return Told(epoch, part if is_written else None, is_replay=False)

    def commit(self, batch: int, told: Sequence[Told | None]) -> None:
        """Decide a batch and commit it, in the driver."""
        self._shared().commit(batch, told)

    def abort(self, batch: int, told: Sequence[Told | None]) -> None:
        """Settle a batch whose query fails, in the driver."""
        self._shared().abort(batch, told)

    def _shared(self) -> SharedRun:
        return _shared(find_sink(self.kind)(self.target))


def _shared(sink: Any) -> SharedRun:
    protocol = sink.begun()
    return SharedRun(protocol, protocol.writer.memory)
