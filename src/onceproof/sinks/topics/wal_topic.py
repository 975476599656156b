"""Rows staged in a topic, and sent to the target once the commit log has the batch.

The rows and their mark are in different topics and cannot be one transaction, so a run that crashes
between the two leaves a batch that is sent again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.errors import StackError
from onceproof.guarantee import Guarantee
from onceproof.sinks import Target
from onceproof.sinks.in_spark.part_tasks import write_by_parts, writer_of
from onceproof.sinks.protocol import Decision, Part
from onceproof.sinks.protocol.journal import JournalMemory, JournalState
from onceproof.sinks.protocol.wal import Wal
from onceproof.sinks.sweep import Left, counted, staged
from onceproof.sinks.topics.cluster import (
    Cluster,
    drop,
    is_there,
    make_kept,
    make_target,
    partitions_of,
)
from onceproof.sinks.topics.journal import TopicJournal, journal_of, stage_of, writer_of_topic
from onceproof.sinks.topics.part import PATIENCE_S, STAGED, BeginStaged, TopicPart
from onceproof.sinks.topics.reader import ALL, READ_AT_MOST_S, TopicNews
from onceproof.sinks.topics.rows import as_records, record_target
from onceproof.sinks.topics.sink import OPTIONS, TopicSink

_WORTH_IT = 5000  # records to be removed at once


@dataclass(frozen=True)
class WalTopic(TopicSink):
    """A topic with rows and mark in separate topics: a crash in between repeats the rows.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    family = "wal"
    guarantee = Guarantee.AT_LEAST_ONCE
    options: ClassVar = OPTIONS
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = (
        *failpoints.TASK,
        *("staged", "sink_committed", "apply_half", "applied_unmarked", "marked"),
    )

    def prepare(self) -> None:
        """Create the topic, its staging topic and its journal."""
        Cluster.of(self.target).ask(self._make)

    def _make(self, client: Any) -> None:
        make_target(client, self.target)
        make_kept(client, self.stage, partitions_of(client, self.target.name))
        make_kept(client, self.journal, 1)

    def write(self, frame: Any, batch: int) -> None:
        """Apply the previous batch, then stage this one."""
        begin = BeginStaged(self.target, self.stage)
        records = as_records(self.target, frame)
        write_by_parts(self._run, record_target(self.target), records, batch, begin)

    def recover(self) -> Mapping[str, Any]:
        """Apply the batches in the commit log; call it before each start and at the end."""
        with closing(self.log()) as log:
            return self._driver(log).recover()

    def left(self) -> list[Left]:
        """Return the staged parts."""
        if not is_there(Cluster.of(self.target), self.stage):
            return []
        with closing(self.log()) as log:
            named = {part for one in log.waiting() for part in one.parts}
            return staged(self.target, log.parts(), named)

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:  # noqa: ARG002
        """Send the batches in the commit log."""
        return counted(self.recover())

    def drop(self) -> None:
        """Remove the topics."""
        drop(Cluster.of(self.target), self.target.name, self.stage, self.journal)

    @property
    def stage(self) -> str:
        """The staging topic."""
        return stage_of(self.target.name, self._writer)

    @property
    def journal(self) -> str:
        """The topic with the decisions."""
        return journal_of(self.target.name, self._writer)

    @property
    def _writer(self) -> str:
        return writer_of_topic(self.target)

    def log(self) -> StagedTopic:
        """Return the log of a run that has not claimed yet."""
        return StagedTopic(self.target, self.journal, self.stage)

    def _driver(self, log: StagedTopic) -> Wal:
        return Wal(log, writer_of(self.target, self._writer, log), failpoints.reached, atomic=False)

    @cached_property
    def _run(self) -> Wal:
        return self._driver(self.log())


class StagedTopic:
    """The log of one writer: its journal and its staging topic."""

    def __init__(self, target: Target, journal: str, stage: str) -> None:
        """Store the names; does not connect."""
        self.cluster, self.topic, self.stage = Cluster.of(target), target.name, stage
        self.memory = JournalMemory(
            TopicJournal(self.cluster, journal), JournalState(replaces=True)
        )
        self._begin = BeginStaged(target, stage)
        self._news = TopicNews(self.cluster, stage, ALL, READ_AT_MOST_S)
        self._has_cleaned = False

    def claim(self, attempt: int) -> int:
        """Claim the writer."""
        return self.memory.claim(attempt)

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        return self.memory.newest()

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of one batch."""
        return self.memory.decision(batch)

    def decide(self, decision: Decision) -> bool:
        """Record a batch's parts, replacing an earlier decision unless it is marked."""
        return self.memory.decide(decision)

    def begin(self, part: Part) -> TopicPart:
        """Begin to stage a part."""
        return self._begin(part)

    def waiting(self) -> Sequence[Decision]:
        """Return the unmarked decisions, in order."""
        return self.memory.undone()

    def apply(
        self,
        decision: Decision,
        epoch: int,
        half: Callable[[], None],
        *,
        mark: bool,  # noqa: ARG002
    ) -> bool:
        """Send the staged records to the target; `half` is called after half of the parts.

        `mark` is ignored: records and mark cannot be one transaction.
        """
        if not self.memory.is_undone(decision.batch, epoch):
            return False
        names = [part.name for part in decision.parts]
        first, rest = names[: len(names) // 2], names[len(names) // 2 :]
        staged = [(_part(one), one) for one in self._staged()]
        if first:
            self._send([one for name, one in staged if name in first])
            half()
        self._send([one for name, one in staged if name in rest])
        return True

    def mark(self, decision: Decision, epoch: int) -> bool:
        """Record that a batch is applied."""
        return self.memory.note_done(decision.batch, epoch)

    def clean(self, keep: Iterable[Part], epoch: int) -> int:
        """Remove the records before the first one to keep; return the number of removed parts.

        The brokers take half a second for it, so a run does it once, and then only when there are
        at least `_WORTH_IT` records to remove.
        """
        from kafka import TopicPartition

        kept = {part.name for part in keep}
        cuts: dict[int, int] = {}
        held: set[int] = set()
        gone: Counter[str] = Counter()
        for one in self._staged():
            name = _part(one)
            if name in kept or Part.of(name).epoch > epoch:
                held.add(one.partition)
            elif one.partition not in held:
                cuts[one.partition] = one.offset + 1
                gone[name] += 1
        if self._has_cleaned and gone.total() < _WORTH_IT:
            return 0
        self._has_cleaned = True
        if cuts:
            before = {TopicPartition(self.stage, number): at for number, at in cuts.items()}
            self.cluster.ask(lambda client: client.delete_records(before))
        return len(gone)

    def parts(self) -> list[Part]:
        """Return the parts with staged records."""
        return sorted({Part.of(_part(one)) for one in self._staged()})

    def close(self) -> None:
        """Close the clients."""
        self.memory.journal.close()
        self._news.close()

    def _staged(self) -> list[Any]:
        return self._news.since({})[0]

    def _send(self, records: list[Any]) -> None:
        failed: list[Any] = []
        producer = self.cluster.bulk(self.topic, on_delivery=lambda error, _: failed.append(error))
        for one in records:
            headers = [header for header in one.headers if header[0] != STAGED]
            given = (one.value, one.key, one.partition)
            while True:
                try:
                    producer.produce(self.topic, *given, headers=headers, timestamp=one.timestamp)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(PATIENCE_S) or failed:
            raise StackError(f"{self.topic} did not store all records: {failed[:1]}")


def _part(record: Any) -> str:
    return str(dict(record.headers)[STAGED].decode())
