"""The two clients that send: idempotent, acknowledged by all replicas, and patient.

A delivery time-out that is shorter than an outage voids idempotence in both: what had timed out may
be in the topic, and what is sent after it may be there twice. So the time-out lies above any
planned outage, and a client that reports an error is used no further. The record's timestamp is
left to the client: an event time in its place would let retention delete the input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from onceproof.producing.rows import Sends
from onceproof.security import confluent_settings, kafka_settings
from onceproof.workloads.options import CONFLUENT

_REQUEST_MS = 4000
_LINGER_MS = 10
_BATCH_BYTES = 256 * 1024


class Client(Protocol):
    """One producer of Kafka; `error` says what went wrong first, and is empty while all is well."""

    error: str

    def send(self, sends: Sends, begin: int, end: int) -> None:
        """Send the rows from `begin` up to `end`."""

    def serve(self) -> None:
        """Note the outcomes that have come in."""

    def close(self) -> None:
        """Give back what it holds; sends without an outcome stay so."""


class KafkaPython:
    """kafka-python, which is always there."""

    def __init__(self, bootstrap: Sequence[str], topic: str, patience_s: float) -> None:
        """Connect; `patience_s` is how long a record may wait for its acknowledgement."""
        from kafka import KafkaProducer

        self.error = ""
        self._topic = topic
        self._under_way: deque[tuple[Any, Sends, int]] = deque()
        self._producer = KafkaProducer(
            **kafka_settings(bootstrap),
            acks="all",
            enable_idempotence=True,
            linger_ms=_LINGER_MS,
            batch_size=_BATCH_BYTES,
            request_timeout_ms=_REQUEST_MS,
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
        """Note outcomes in the order of sending, here and not in the client's own thread."""
        while self._under_way and self._under_way[0][0].is_done:
            future, sends, place = self._under_way.popleft()
            if future.succeeded():
                sends.acknowledge(place, future.value.offset)
            else:
                self.error = self.error or f"{type(future.exception).__name__}: {future.exception}"
                sends.fail()

    def close(self) -> None:
        """End its thread at once."""
        self._producer.close(timeout=0)


class Confluent:
    """confluent-kafka, at a fifth of the cost."""

    def __init__(self, bootstrap: Sequence[str], topic: str, patience_s: float) -> None:
        """Connect; `patience_s` is how long a record may wait for its acknowledgement."""
        from confluent_kafka import Producer

        self.error = ""
        self._topic = topic
        self._producer: Any = Producer(
            {
                **confluent_settings(bootstrap),
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": _LINGER_MS,
                "batch.size": _BATCH_BYTES,
                "socket.timeout.ms": _REQUEST_MS,
                "request.timeout.ms": _REQUEST_MS,
                "delivery.timeout.ms": int(patience_s * 1000),
                "retry.backoff.ms": 50,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.interval.ms": 5000,
                "error_cb": self._troubled,
            }
        )

    def send(self, sends: Sends, begin: int, end: int) -> None:
        """Send some rows; waits where the client's queue is full."""
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
        """Note what has come in."""
        self._producer.poll(0)

    def close(self) -> None:
        """Drop what is queued; it ends with the process."""
        self._producer.purge()

    def _noted(self, sends: Sends, place: int, error: Any, message: Any) -> None:
        if error is None:
            # After some retries it has no offset: the record is then looked for in the topic.
            sends.acknowledge(place, message.offset())
        else:
            self.error = self.error or f"{error.name()}: {error.str()}"
            sends.fail()

    def _troubled(self, error: Any) -> None:
        if error.fatal():
            self.error = self.error or f"{error.name()}: {error.str()}"


def make_client(name: str, bootstrap: Sequence[str], topic: str, patience_s: float) -> Client:
    """Return a new client of this name."""
    kind = Confluent if name == CONFLUENT else KafkaPython
    return kind(bootstrap, topic, patience_s)
