"""A journal in a topic of one partition, beside its target."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from onceproof.errors import RequestError, StackError, invalid
from onceproof.machine.polling import wait_for
from onceproof.sinks import Target
from onceproof.sinks.protocol import checked_writer
from onceproof.sinks.topics.cluster import Cluster, described
from onceproof.sinks.topics.reader import ALL, TopicNews

_APPENDED_WITHIN_S = 60.0
_TAIL = ".decisions"
MAIN = "main"  # the default writer


def writer_of_topic(target: Target) -> str:
    """Return a target's writer; raises for a dot, which separates it from the topic's name."""
    writer = checked_writer(target.writer or MAIN)
    if "." in writer:
        use = "dashes instead of dots for the writer of a topic"
        raise RequestError(invalid("writer name", writer, use))
    return writer


def journal_of(topic: str, writer: str) -> str:
    """Return the name of the topic with a writer's decisions about a target."""
    return f"{topic}.{writer}{_TAIL}"


def stage_of(topic: str, writer: str) -> str:
    """Return the name of the topic in which a writer stages records for a target."""
    return f"{topic}.{writer}.staged"


def writers_of(topic: str, names: Sequence[str]) -> list[str]:
    """Return the writers of a target whose journals are among these topics."""
    found = [name.removesuffix(_TAIL).rpartition(".") for name in names if name.endswith(_TAIL)]
    return sorted(writer for target, _, writer in found if target == topic)


@dataclass
class TopicJournal:
    """A journal's reader that may also append; it keeps its clients open."""

    cluster: Cluster
    topic: str
    _places: dict[int, int] = field(init=False, default_factory=dict)
    _appended: tuple[int, str] = field(init=False, default=(-1, ""))
    _mark: str = field(init=False, default="")
    _producer: Any = field(init=False, default=None)
    _news: TopicNews = field(init=False)

    def __post_init__(self) -> None:
        self._news = TopicNews(self.cluster, self.topic, ALL, _APPENDED_WITHIN_S)

    def mark(self) -> str:
        """Return the end of the topic's id, which Kafka never reuses."""

        def see(client: Any) -> str:
            return str(described(client, self.topic)["topic_id"]).replace("-", "")[-12:]

        self._mark = self._mark or self.cluster.ask(see)
        return self._mark

    def append(self, text: str) -> None:
        """Append a record, acknowledged by all in-sync replicas."""
        from kafka.errors import KafkaError

        try:
            self._producer = self._producer or self.cluster.producer(_APPENDED_WITHIN_S)
            sent = self._producer.send(self.topic, text.encode(), partition=0)
            self._appended = sent.get(_APPENDED_WITHIN_S).offset, text
        except KafkaError as error:
            self.close()
            raise StackError(
                f"{self.topic} did not acknowledge the appended record: {error}"
            ) from None

    def read(self) -> Sequence[tuple[int, str]]:
        """Return the new records, at least up to the last one appended here."""
        from kafka.errors import KafkaError, RetriableError

        place, _ = self._appended
        if place == self._places.get(0):  # the next record is the appended one: no fetch needed
            self._places[0] = place + 1
            return [self._appended]
        found: list[tuple[int, str]] = []

        def is_read() -> bool:
            try:
                came, self._places = self._news.since(self._places)
            except (RetriableError, OSError):
                return False
            found.extend((one.offset, one.value.decode()) for one in came)
            return self._places.get(0, 0) > place

        try:
            wait_for(is_read, _APPENDED_WITHIN_S, f"{self.topic} was not read to its end")
        except KafkaError as error:
            raise StackError(f"{self.topic} cannot be read: {error}") from None
        return found

    def trim(self, before: int) -> None:
        """Remove the records before a place; does nothing without the right to."""
        from kafka import TopicPartition
        from kafka.errors import AuthorizationError

        with suppress(AuthorizationError):
            self.cluster.ask(
                lambda client: client.delete_records({TopicPartition(self.topic, 0): before})
            )

    def close(self) -> None:
        """Close both clients; the next call creates new ones."""
        self._news.close()
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(Exception):  # its brokers may be gone
                producer.close(timeout=0)
