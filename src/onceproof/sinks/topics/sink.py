"""What every sink of a topic has: how its topic is looked at."""

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
    "partitions": Field(whole(1, 1000), "partitions that the topic gets", PARTITIONS)
}


@dataclass(frozen=True)
class TopicSink:
    """A topic, as sinks that write to one look at it."""

    target: Target

    store = "kafka"
    atomic_batches = False
    ordered = False
    writes = Writes.APPEND

    def open(self) -> tuple[int, int]:
        """Return how many transactions are open in the topic, and how many records they hide."""
        return open_in(self.target)

    def open_names(self) -> list[str]:
        """Return the transactional ids of what is open in the topic."""
        return blockers(self.target)

    def writers(self) -> list[str]:
        """Return the writers whose journals stand beside the topic; raises if there is none."""
        topics = Cluster.of(self.target).ask(lambda client: client.list_topics())
        found = writers_of(self.target.name, topics)
        if not found:
            raise RequestError(
                f"{self.target.name} has no writers: beside it is no topic {self.target.name}."
                "<writer>.decisions, which a sink makes that remembers its batches"
            )
        return found

    def reader(self) -> Reader:
        """Return somebody who looks at what is committed, again and again."""
        return TopicReader(self.target)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write what is committed as parquet."""
        return read(self.target, folder)
