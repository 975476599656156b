"""The two producer clients: idempotent, acknowledged by all replicas, with long time-outs.

A delivery time-out that is shorter than an outage voids idempotence in both: a timed-out record may
be in the topic, and a record sent after it may be there twice. So the time-out is above any planned
outage, and a client is not used after an error. If a workload asks for a producer that gives up
early (`delivery_s`), timed-out records are sent again, as such producers do. The record's timestamp
is left to the client: with the event time instead, retention would delete the input.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from onceproof.kafka.security import Brokers
from onceproof.producing.rows import Sends
from onceproof.workloads import CONFLUENT

_ASK_PARTITIONS_EVERY_S = 2.0
_ASK_AT_MOST_S = 0.5
_TIMED_OUT = "_MSG_TIMED_OUT"
REQUEST_MS = 4000
LINGER_MS = 10
BATCH_BYTES = 256 * 1024


class Confluent:
    """The client confluent-kafka, at a fifth of the cost of kafka-python."""

    def __init__(
        self, brokers: Brokers, topic: str, patience_s: float, *, sends_again: bool = False
    ) -> None:
        """Connect; `patience_s` is the delivery time-out of a record."""
        from confluent_kafka import Producer

        self.error = ""
        self._topic, self._sends_again = topic, sends_again
        self._timed_out: dict[Sends, list[int]] = defaultdict(list)
        self._partitions, self._asked_at = 0, 0.0
        self._producer: Any = Producer(
            {
                **brokers.for_confluent(),
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": LINGER_MS,
                "batch.size": BATCH_BYTES,
                "socket.timeout.ms": REQUEST_MS,
                "request.timeout.ms": REQUEST_MS,
                "delivery.timeout.ms": int(patience_s * 1000),
                "retry.backoff.ms": 50,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.interval.ms": 5000,
                "error_cb": self._troubled,
            }
        )

    def send(self, sends: Sends, begin: int, end: int) -> None:
        """Send some rows; waits while the client's queue is full."""
        produce, topic, noted = self._producer.produce, self._topic, self._noted
        for place, (number, key, value, headers) in enumerate(sends.rows(begin, end), begin):
            outcome = partial(noted, sends, place)
            while True:
                try:
                    produce(topic, value, key, number, outcome, headers=headers or [])
                    break
                except BufferError:
                    self._producer.poll(0.1)

    def serve(self) -> None:
        """Handle the outcomes that have arrived."""
        self._producer.poll(0)

    def given_up(self) -> list[Sends]:
        """Return the sends that have timed out since the last call."""
        found = [sends.repeated(places) for sends, places in self._timed_out.items()]
        self._timed_out.clear()
        return found

    def partitions(self) -> int:
        """Return the number of partitions, refreshed every 2 s if a broker answers."""
        from confluent_kafka import KafkaException

        now = time.monotonic()
        if now >= self._asked_at + _ASK_PARTITIONS_EVERY_S:
            with suppress(KafkaException):
                found = self._producer.list_topics(self._topic, _ASK_AT_MOST_S)
                self._partitions = len(found.topics[self._topic].partitions)
            self._asked_at = time.monotonic()
        return self._partitions

    def close(self) -> None:
        """Drop the queued records; the client ends with the process."""
        self._producer.purge()

    def _noted(self, sends: Sends, place: int, error: Any, message: Any) -> None:
        if error is None:
            # After some retries there is no offset: the record is then searched in the topic.
            sends.acknowledge(place, message.offset())
        elif self._sends_again and error.name() == _TIMED_OUT:
            sends.fail()
            self._timed_out[sends].append(place)
        else:
            self.error = self.error or f"{error.name()}: {error.str()}"
            sends.fail()

    def _troubled(self, error: Any) -> None:
        if error.fatal():
            self.error = self.error or f"{error.name()}: {error.str()}"


class Client(Protocol):
    """A producer client; `error` is its first error, empty without an error."""

    error: str

    def send(self, sends: Sends, begin: int, end: int) -> None:
        """Send the rows from `begin` up to `end`."""

    def serve(self) -> None:
        """Handle the outcomes that have arrived."""

    def given_up(self) -> list[Sends]:
        """Return, once, the timed-out sends that must be sent again."""

    def partitions(self) -> int:
        """Return the number of the topic's partitions, 0 while it is unknown."""

    def close(self) -> None:
        """Close the client; sends without an outcome remain open."""


class KafkaPython:
    """The client kafka-python, which is always installed."""

    def __init__(self, brokers: Brokers, topic: str, patience_s: float) -> None:
        """Connect; `patience_s` is the delivery time-out of a record."""
        from kafka import KafkaProducer

        self.error = ""
        self._topic = topic
        self._under_way: deque[tuple[Any, Sends, int]] = deque()
        self._producer = KafkaProducer(
            **brokers.for_kafka_python(),
            acks="all",
            enable_idempotence=True,
            linger_ms=LINGER_MS,
            batch_size=BATCH_BYTES,
            request_timeout_ms=REQUEST_MS,
            delivery_timeout_ms=int(patience_s * 1000),
            max_block_ms=int(patience_s * 1000),
            bootstrap_timeout_ms=int(patience_s * 1000),
            retry_backoff_ms=50,
            reconnect_backoff_max_ms=500,
            metadata_max_age_ms=5000,
            metrics_enabled=False,
        )

    def send(self, sends: Sends, begin: int, end: int) -> None:
        """Send some rows."""
        send, topic = self._producer.send, self._topic
        self._under_way.extend(
            (send(topic, value, key, headers, number), sends, place)
            for place, (number, key, value, headers) in enumerate(sends.rows(begin, end), begin)
        )

    def serve(self) -> None:
        """Handle outcomes in the order of sending, in this thread and not in the client's."""
        while self._under_way and self._under_way[0][0].is_done:
            future, sends, place = self._under_way.popleft()
            if future.succeeded():
                sends.acknowledge(place, future.value.offset)
            else:
                self.error = self.error or f"{type(future.exception).__name__}: {future.exception}"
                sends.fail()

    def given_up(self) -> list[Sends]:
        """Return an empty list: this client cannot be used after a time-out."""
        return []

    def partitions(self) -> int:
        """Return the number in the client's metadata, which it refreshes by itself."""
        return len(self._producer.partitions_for(self._topic) or ())

    def close(self) -> None:
        """Stop the client's thread at once."""
        self._producer.close(timeout=0)


def make_client(
    options: Mapping[str, Any], brokers: Brokers, topic: str, patience_s: float
) -> Client:
    """Return a new client for a workload's options."""
    if options["client"] != CONFLUENT:
        return KafkaPython(brokers, topic, patience_s)
    early = options["delivery_s"]
    return Confluent(brokers, topic, early or patience_s, sends_again=bool(early))
