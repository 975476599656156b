"""What every sink of a topic has: how its topic is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onceproof.run.plan import Writes
from onceproof.sinks import Reader, Target
from onceproof.sinks.topics.open_transactions import blockers, open_in
from onceproof.sinks.topics.reader import TopicReader, read


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

    def reader(self) -> Reader:
        """Return somebody who looks at what is committed, again and again."""
        return TopicReader(self.target)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write what is committed as parquet."""
        return read(self.target, folder)
