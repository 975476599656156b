"""A journal that is a topic of one partition, beside the target that it tells of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.machine.polling import wait_for
from onceproof.sinks import Target
from onceproof.sinks.protocol import checked_writer
from onceproof.sinks.topics.cluster import Cluster, described
from onceproof.sinks.topics.reader import ALL, TopicNews

_APPENDED_WITHIN_S = 60.0
_TAIL = ".decisions"
MAIN = "main"  # the writer of a target that names none


def writer_of_topic(target: Target) -> str:
    """Return a target's writer, or raise for one that could be taken for a part of its topic."""
    writer = checked_writer(target.writer or MAIN)
    if "." in writer:
        raise RequestError(f"writer {writer!r} of a topic has a dot: write a dash instead")
    return writer


def journal_of(topic: str, writer: str) -> str:
    """Return the name of the topic that keeps what a writer has decided about a target."""
    return f"{topic}.{writer}{_TAIL}"


def stage_of(topic: str, writer: str) -> str:
    """Return the name of the topic in which a writer's log stages records for a target."""
    return f"{topic}.{writer}.staged"


def writers_of(topic: str, names: Sequence[str]) -> list[str]:
    """Return the writers whose journals are among topics."""
    found = [name.removesuffix(_TAIL).rpartition(".") for name in names if name.endswith(_TAIL)]
    return sorted(writer for target, _, writer in found if target == topic)


@dataclass
class TopicJournal:
    """One reader of a journal, who may append; its clients last."""

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
        """Return a part of the topic's id, which Kafka gives once."""

        def see(client: Any) -> str:
            return str(described(client, self.topic)["topic_id"]).replace("-", "")[-12:]

        self._mark = self._mark or self.cluster.ask(see)
        return self._mark

    def append(self, text: str) -> None:
        """Append a record, at all replicas that are in sync."""
        from kafka.errors import KafkaError

        try:
            self._producer = self._producer or self.cluster.producer(_APPENDED_WITHIN_S)
            sent = self._producer.send(self.topic, text.encode(), partition=0)
            self._appended = sent.get(_APPENDED_WITHIN_S).offset, text
        except KafkaError as error:
            self.close()
            raise StackError(
                f"{self.topic} does not say that it holds what was appended: {error}"
            ) from None

    def read(self) -> Sequence[tuple[int, str]]:
        """Return what has come, at least up to what was appended here."""
        from kafka.errors import KafkaError, RetriableError

        place, _ = self._appended
        if place == self._places.get(0):  # nobody has come in between, so nothing is to be fetched
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
            wait_for(is_read, _APPENDED_WITHIN_S, f"{self.topic} is not read to its end")
        except KafkaError as error:
            raise StackError(f"{self.topic} cannot be read: {error}") from None
        return found

    def trim(self, before: int) -> None:
        """Remove what stands before a place; who has not the right to leaves it."""
        from kafka import TopicPartition
        from kafka.errors import AuthorizationError

        with suppress(AuthorizationError):
            self.cluster.ask(
                lambda client: client.delete_records({TopicPartition(self.topic, 0): before})
            )

    def close(self) -> None:
        """Close both clients; the next call makes new ones."""
        self._news.close()
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(Exception):  # its brokers may be gone
                producer.close(timeout=0)
