"""The common part of topic sinks: reading the topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.runs.plan import Writes
from onceproof.schema.kinds import Field, whole
from onceproof.sinks import Reader, Target
from onceproof.sinks.topics.cluster import PARTITIONS, Cluster
from onceproof.sinks.topics.coordinator import blockers, open_in
from onceproof.sinks.topics.journal import writers_of
from onceproof.sinks.topics.reader import TopicReader, read

OPTIONS: Mapping[str, Field] = {
    "partitions": Field(whole(1, 1000), "number of the topic's partitions", PARTITIONS)
}


@dataclass(frozen=True)
class TopicSink:
    """The common part of sinks that write to a topic."""

    target: Target

    store = "kafka"
    atomic_batches = False
    ordered = False
    writes = Writes.APPEND

    def open(self) -> tuple[int, int]:
        """Return the number of open transactions in the topic, and of records that they hide."""
        return open_in(self.target)

    def open_names(self) -> list[str]:
        """Return the transactional ids of the open transactions in the topic."""
        return blockers(self.target)

    def writers(self) -> list[str]:
        """Return the writers with a journal of the topic; raises if no writer has one."""
        topics = Cluster.of(self.target).ask(lambda client: client.list_topics())
        found = writers_of(self.target.name, topics)
        if not found:
            raise RequestError(
                f"{self.target.name} has no writers: there is no topic {self.target.name}."
                "<writer>.decisions, in which sinks record their batches"
            )
        return found

    def reader(self) -> Reader:
        """Return a reader that polls the committed records."""
        return TopicReader(self.target)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write the committed records as parquet."""
        return read(self.target, folder)
