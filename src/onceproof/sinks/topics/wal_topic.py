"""Rows staged in a topic, and sent to another when the commit log has the batch.

Their effect is in another topic than their mark, and nothing makes the two one. So whoever dies
between them sends a batch again.
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
from onceproof.sinks.protocol.journal import JournalMemory, Told
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
    """A topic whose records and their mark are apart: who dies between sends the records again.

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
        """Make the topic, its stage and its journal."""
        Cluster.of(self.target).ask(self._make)

    def _make(self, client: Any) -> None:
        make_target(client, self.target)
        make_kept(client, self.stage, partitions_of(client, self.target.name))
        make_kept(client, self.journal, 1)

    def write(self, frame: Any, batch: int) -> None:
        """Apply the batch before, then stage this one."""
        begin = BeginStaged(self.target, self.stage)
        records = as_records(self.target, frame)
        write_by_parts(self._run, record_target(self.target), records, batch, begin)

    def recover(self) -> Mapping[str, Any]:
        """Apply what the commit log has; call it before each start and at the end."""
        with closing(self.log()) as log:
            return self._driver(log).recover()

    def left(self) -> list[Left]:
        """Return what is staged."""
        if not is_there(Cluster.of(self.target), self.stage):
            return []
        with closing(self.log()) as log:
            named = {part for one in log.waiting() for part in one.parts}
            return staged(self.target, log.parts(), named)

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:  # noqa: ARG002
        """Send what the commit log has."""
        return counted(self.recover())

    def drop(self) -> None:
        """Remove the topics."""
        drop(Cluster.of(self.target), self.target.name, self.stage, self.journal)

    @property
    def stage(self) -> str:
        """The topic that is staged in."""
        return stage_of(self.target.name, self._writer)

    @property
    def journal(self) -> str:
        """The topic that keeps what is decided."""
        return journal_of(self.target.name, self._writer)

    @property
    def _writer(self) -> str:
        return writer_of_topic(self.target)

    def log(self) -> StagedTopic:
        """Return the log of a run that has not begun."""
        return StagedTopic(self.target, self.journal, self.stage)

    def _driver(self, log: StagedTopic) -> Wal:
        return Wal(log, writer_of(self.target, self._writer, log), failpoints.reached, atomic=False)

    @cached_property
    def _run(self) -> Wal:
        return self._driver(self.log())


class StagedTopic:
    """The log of one writer: its journal, and the stage."""

    def __init__(self, target: Target, journal: str, stage: str) -> None:
        """Make it; nothing is reached yet."""
        self.cluster, self.topic, self.stage = Cluster.of(target), target.name, stage
        self.memory = JournalMemory(TopicJournal(self.cluster, journal), Told(replaces=True))
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
        """Name a batch's parts, also in the place of others, unless it is marked."""
        return self.memory.decide(decision)

    def begin(self, part: Part) -> TopicPart:
        """Begin to stage a part."""
        return self._begin(part)

    def waiting(self) -> Sequence[Decision]:
        """Return the decisions that are not marked, in order."""
        return self.memory.undone()

    def apply(
        self,
        decision: Decision,
        epoch: int,
        half: Callable[[], None],
        *,
        mark: bool,  # noqa: ARG002
    ) -> bool:
        """Send the staged records to the target; half of the effect is half of the parts.

        Their mark can never be of one piece with them.
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
        """Remember that a batch is applied."""
        return self.memory.note_done(decision.batch, epoch)

    def clean(self, keep: Iterable[Part], epoch: int) -> int:
        """Remove what stands before the first record that is to be kept; return how many parts.

        The brokers take half a second for it: a run does so at first, then when it is worth it.
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
        """Return the parts of which records are staged."""
        return sorted({Part.of(_part(one)) for one in self._staged()})

    def close(self) -> None:
        """Give back what it holds."""
        self.memory.journal.close()
        self._news.close()

    def _staged(self) -> list[Any]:
        return self._news.since({})[0]

    def _send(self, records: list[Any]) -> None:
        failed: list[Any] = []
        producer = self.cluster.bulk(self.topic, on_delivery=lambda error, _: failed.append(error))
        for one in records:
            headers = [told for told in one.headers if told[0] != STAGED]
            given = (one.value, one.key, one.partition)
            while True:
                try:
                    producer.produce(self.topic, *given, headers=headers, timestamp=one.timestamp)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(PATIENCE_S) or failed:
            raise StackError(f"{self.topic} did not take all records: {failed[:1]}")


def _part(record: Any) -> str:
    return str(dict(record.headers)[STAGED].decode())
