"""Rows appended to a topic by Spark's own Kafka sink, unchanged: a replay adds them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.sinks.tables.writer import halves
from onceproof.sinks.topics.cluster import Cluster, drop, make_target
from onceproof.sinks.topics.rows import as_records
from onceproof.sinks.topics.sink import OPTIONS, TopicSink


@dataclass(frozen=True)
class AppendTopic(TopicSink):
    """A topic to which Spark's tasks append records, without a record of batches."""

    family = "append"
    guarantee = Guarantee.AT_LEAST_ONCE
    options: ClassVar = OPTIONS
    modes: ClassVar = ("append", "update")
    steps: ClassVar = ("write_half", "written", "sink_committed")

    def prepare(self) -> None:
        """Create the topic."""
        Cluster.of(self.target).ask(lambda client: make_target(client, self.target))

    def write(self, frame: Any, batch: int) -> None:
        """Append the rows of a batch; if `write_half` is armed, in two halves."""
        records = self._signed(as_records(self.target, frame), batch)
        if failpoints.is_armed("write_half", batch):
            first, records = halves(records)
            if first is not None:
                self._save(first)
                failpoints.reached("write_half", batch)
        self._save(records)
        failpoints.reached("written", batch)
        failpoints.reached("sink_committed", batch)

    def recover(self) -> Mapping[str, Any]:
        """Return an empty mapping: records of crashed tasks stay in the topic."""
        return {}

    def drop(self) -> None:
        """Remove the topic."""
        drop(Cluster.of(self.target), self.target.name)

    def _signed(self, records: Any, batch: int) -> Any:
        from pyspark.sql import functions as F

        if "timestamp" in records.columns:
            raise RequestError(
                "Spark's Kafka sink cannot write column timestamp; remove it, or use"
                " two_phase_topic"
            )
        origin = [
            F.struct(F.lit(name).alias("key"), F.lit(str(value).encode()).alias("value"))
            for name, value in (("_batch", batch), ("_attempt", self.target.attempt))
        ]
        headers = F.array(*origin)
        if "headers" in records.columns:
            headers = F.concat(F.coalesce("headers", F.array()), headers)
        return records.withColumn("headers", headers)

    def _save(self, records: Any) -> None:
        cluster = Cluster.of(self.target)
        options = {f"kafka.{name}": value for name, value in cluster.java_settings.items()}
        (
            records.write.format("kafka")
            .option("kafka.bootstrap.servers", ",".join(cluster.addresses))
            .options(**options)
            .option("topic", self.target.name)
            .save()
        )
