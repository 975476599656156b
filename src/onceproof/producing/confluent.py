"""confluent-kafka as a client that sends: see `onceproof.producing.clients`."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from functools import partial
from typing import Any

from onceproof.kafka.security import Brokers
from onceproof.producing.rows import Sends
from onceproof.producing.settings import BATCH_BYTES, LINGER_MS, REQUEST_MS

_ASK_PARTITIONS_EVERY_S = 2.0
_ASK_AT_MOST_S = 0.5
_TIMED_OUT = "_MSG_TIMED_OUT"


class Confluent:
    """confluent-kafka, at a fifth of the cost."""

    def __init__(
        self, brokers: Brokers, topic: str, patience_s: float, *, sends_again: bool = False
    ) -> None:
        """Connect; `patience_s` is how long a record may wait for its acknowledgement."""
        from confluent_kafka import Producer

        self.error = ""
        self._topic, self._sends_again = topic, sends_again
        self._timed_out: dict[Sends, list[int]] = defaultdict(list)
        self._known, self._asked_at = 0, 0.0
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

    def given_up(self) -> list[Sends]:
        """Return what has timed out since it was asked before."""
        found = [sends.again(places) for sends, places in self._timed_out.items()]
        self._timed_out.clear()
        return found

    def partitions(self) -> int:
        """Ask now and then; while no broker answers there are as many as there were."""
        from confluent_kafka import KafkaException

        now = time.monotonic()
        if now >= self._asked_at + _ASK_PARTITIONS_EVERY_S:
            with suppress(KafkaException):
                found = self._producer.list_topics(self._topic, _ASK_AT_MOST_S)
                self._known = len(found.topics[self._topic].partitions)
            self._asked_at = time.monotonic()
        return self._known

    def close(self) -> None:
        """Drop what is queued; it ends with the process."""
        self._producer.purge()

    def _noted(self, sends: Sends, place: int, error: Any, message: Any) -> None:
        if error is None:
            # After some retries it has no offset: the record is then looked for in the topic.
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
