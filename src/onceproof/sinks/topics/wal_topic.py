"""Rows staged in a topic, and sent to another when the commit log has the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.guarantee import Guarantee
from onceproof.sinks.in_spark.driver_side import write_by_parts, writer_of
from onceproof.sinks.protocol.wal import Wal
from onceproof.sinks.sweep import Left, counted, staged
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.frames import as_records, record_target
from onceproof.sinks.topics.journal import journal_of, stage_of, writer_of_topic
from onceproof.sinks.topics.making import drop, is_there, make_kept, make_target, partitions_of
from onceproof.sinks.topics.part import BeginStaged
from onceproof.sinks.topics.sink import PARTITIONS, TopicSink
from onceproof.sinks.topics.staged import StagedTopic


@dataclass(frozen=True)
class WalTopic(TopicSink):
    """A topic whose records and their mark are apart: who dies between sends the records again.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    family = "wal"
    guarantee = Guarantee.AT_LEAST_ONCE
    options: ClassVar = {"partitions": PARTITIONS}
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
