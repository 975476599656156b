"""Rows added to a Kafka topic by two-phase commit: transactions of tasks, decided once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.guarantee import Guarantee
from onceproof.schema.kinds import Field, Word, whole
from onceproof.sinks.in_spark.part_tasks import write_by_parts, writer_of
from onceproof.sinks.protocol import Part
from onceproof.sinks.protocol.coordinated import CoordinatedParts, Seen, part_of
from onceproof.sinks.protocol.journal import JournalMemory
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.sweep import Fate, Left, counted, decided
from onceproof.sinks.topics.checks import check, check_rights, goes_on, timeout_ms
from onceproof.sinks.topics.cluster import Cluster, drop, is_there, make_kept, make_target
from onceproof.sinks.topics.coordinator import Coordinators
from onceproof.sinks.topics.journal import TopicJournal, journal_of, stage_of, writer_of_topic
from onceproof.sinks.topics.part import BeginTransaction, TopicPart
from onceproof.sinks.topics.rows import as_records, record_target
from onceproof.sinks.topics.sink import OPTIONS, TopicSink


@dataclass(frozen=True)
class TwoPhaseTopic(TopicSink):
    """A topic to which each task adds its rows in a transaction that the driver ends.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    family = "two_phase"
    guarantee = Guarantee.EXACTLY_ONCE
    options: ClassVar = {
        **OPTIONS,
        "transaction_timeout_ms": Field(
            whole(1000, 2**31 - 1),
            "time-out of transactions; default: the largest that the brokers allow",
            None,
        ),
        "when_lost": Field(
            Word(("stop", "go_on")), "reaction to a decided batch that the brokers aborted", "stop"
        ),
    }
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = (
        *failpoints.TASK,
        *("all_pre_committed", "decided", "commit_half", "committed", "sink_committed"),
    )

    def prepare(self) -> None:
        """Create the topic and its journal; raises if the brokers do not support it."""
        self._cluster.ask(self._make)

    def _make(self, client: Any) -> None:
        check(client, self.target)
        make_target(client, self.target)
        make_kept(client, self.journal, 1)
        check_rights(client, self.target.name, ("WRITE", "DESCRIBE"))
        check_rights(client, self.journal, ("READ", "WRITE", "DESCRIBE"))

    def is_prepared(self) -> bool:
        """Whether the journal exists; the topic alone may be the user's own."""
        return is_there(self._cluster, self.journal)

    def write(self, frame: Any, batch: int) -> None:
        """Write a batch; for a decided batch only run the plan."""
        records = as_records(self.target, frame)
        write_by_parts(self._run, record_target(self.target), records, batch, self._begin)

    def recover(self) -> Mapping[str, Any]:
        """Commit the decided transactions of crashed attempts, and abort the others."""
        with closing(self.parts()) as parts:
            done = self._driver(parts).recover()
            lost = [{"batch": one.batch, "why": why} for one, why in parts.given_up.items()]
            return {**done, "lost": lost} if lost else done

    def left(self) -> list[Left]:
        """Return the open transactions, then those that are decided but gone.

        The journal of a writer with a staging topic belongs to `wal_topic`, which has none.
        """
        is_log = is_there(self._cluster, stage_of(self.target.name, self._writer))
        with closing(self.parts()) as parts:
            return _open(parts) + ([] if is_log else _gone(parts))

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:
        """Settle the open transactions; lost ones are given up, so that the writer can go on."""
        lost = {one.part.batch for one in left if one.fate is Fate.LOST}
        with closing(self.parts()) as parts:
            parts.memory.claim(0)
            for decision in parts.memory.undone():
                if decision.batch in lost:
                    parts.give_up(decision)
            taken = parts.taken_over()
            for name, seen in taken.items():
                parts.coordinator.end(name, seen.producer, seen.epoch, commit=False)
        done = counted(self.recover())
        done |= {"batches given up": len(lost)} if lost else {}
        return done | ({"ended that others began": len(taken)} if taken else {})

    def drop(self) -> None:
        """Abort the open transactions, and remove the topic and its journal."""
        if self.is_prepared():
            with closing(self.parts()) as parts:
                for part in list(parts.intact()):
                    parts.abort(part)
        drop(self._cluster, self.target.name, self.journal)

    @property
    def journal(self) -> str:
        """The topic with the decisions."""
        return journal_of(self.target.name, self._writer)

    @property
    def head(self) -> str:
        """The prefix of the topic's transactional ids."""
        return f"onceproof:{self.target.name}:"

    def parts(self) -> CoordinatedParts:
        """Return the store of a run that has not claimed yet."""
        memory = JournalMemory(TopicJournal(self._cluster, self.journal))
        coordinators = Coordinators(self._cluster)
        at = (coordinators, memory, self.head, self._writer, self._begin_part)
        return CoordinatedParts(*at, goes_on=goes_on(self.target))

    def begun(self) -> TwoPhase:
        """Return the driver's side of a run that has not claimed yet."""
        return self._driver(self.parts())

    def _driver(self, parts: CoordinatedParts) -> TwoPhase:
        writer = writer_of(self.target, self._writer, parts.memory)
        return TwoPhase(parts, writer, failpoints.reached)

    def _begin_part(self, part: Part) -> TopicPart:
        return self._begin(part)

    @property
    def _writer(self) -> str:
        return writer_of_topic(self.target)

    @property
    def _cluster(self) -> Cluster:
        return Cluster.of(self.target)

    @cached_property
    def _begin(self) -> BeginTransaction:
        mark = TopicJournal(self._cluster, self.journal).mark()
        target = record_target(self.target)
        return BeginTransaction(target, self.head, mark, timeout_ms(self.target))

    @cached_property
    def _run(self) -> TwoPhase:
        return self.begun()


def _open(parts: CoordinatedParts) -> list[Left]:
    ours = [
        Left("transaction", part, decided(parts.memory, part), _since(seen))
        for part, seen in parts.intact().items()
    ]
    return ours + [
        Left("transaction", part_of(parts.head, name)[0], Fate.TAKEN, _since(seen))
        for name, seen in parts.taken_over().items()
    ]


def _gone(parts: CoordinatedParts) -> list[Left]:
    return [
        Left("transaction", part, Fate.LOST)
        for decision in parts.memory.undone()
        for part in parts.lost(decision)
    ]


def _since(seen: Seen) -> datetime:
    return datetime.fromtimestamp(seen.started_ms / 1000, tz=UTC)
