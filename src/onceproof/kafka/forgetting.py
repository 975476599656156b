"""A server that returns each record of a topic once, and then forgets it.

It simulates sources that cannot be replayed, such as a socket. The records come from the run's
topic, so ledger, offset log and reference are those of any run; a second request for the same
offsets returns nothing. The server runs in the run's agent, and outlives every driver.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from onceproof.errors import StackError
from onceproof.kafka.security import Brokers

ADDRESS = "ONCEPROOF_TAKEN_FROM"
_POLL_MS = 100
_ANSWERS_WITHIN_S = 30.0


class Records:
    """The records that were not taken yet, by partition and offset."""

    def __init__(self, partitions: Iterable[int]) -> None:
        self._lock = threading.Lock()
        self._ends = dict.fromkeys(partitions, 0)
        self._held: dict[int, dict[int, str]] = {one: {} for one in self._ends}

    def put(self, partition: int, offset: int, value: str) -> None:
        """Add a record."""
        with self._lock:
            self._held[partition][offset] = value
            self._ends[partition] = offset + 1

    def ends(self) -> dict[int, int]:
        """Return the end offset of each partition."""
        with self._lock:
            return dict(self._ends)

    def take(self, partition: int, begin: int, end: int) -> list[str]:
        """Remove and return the records of a range that were not taken yet."""
        with self._lock:
            held = self._held[partition]
            return [held.pop(offset) for offset in range(begin, end) if offset in held]

    def answer(self, asked: dict[str, Any]) -> Any:
        """Return the answer to one request."""
        return self.take(**asked) if asked else self.ends()


@contextmanager
def forgetting(brokers: Brokers, topic: str, host: str) -> Iterator[str]:
    """Serve the records of a topic, each once; yield the server's address."""
    consumer, parts = _consumer(brokers, topic)
    records, over = Records(part.partition for part in parts), threading.Event()
    with closing(consumer), _Server((host, 0), _Answer) as server:
        server.records = records
        feeder = threading.Thread(target=_feed, args=(consumer, records, over.is_set))
        asked = threading.Thread(target=server.serve_forever)
        for thread in (feeder, asked):
            thread.start()
        try:
            yield f"{host}:{server.server_address[1]}"
        finally:
            over.set()
            server.shutdown()
            for thread in (feeder, asked):
                thread.join()


def ask(address: str, **asked: int) -> Any:
    """Take a range of records from the server; without a range, return the end offsets."""
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), _ANSWERS_WITHIN_S) as connection,
        connection.makefile("rwb") as file,
    ):
        file.write(json.dumps(asked).encode() + b"\n")
        file.flush()
        answer = file.readline()
    if not answer.endswith(b"\n"):
        raise StackError(f"the server at {address} closed the connection during its answer")
    return json.loads(answer)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    records: Records


class _Answer(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        self.wfile.write(json.dumps(self.server.records.answer(asked)).encode() + b"\n")


def _consumer(brokers: Brokers, topic: str) -> tuple[Any, list[Any]]:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        **brokers.for_kafka_python(), enable_auto_commit=False, metrics_enabled=False
    )
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        consumer.close()
        raise StackError(f"topic {topic!r} does not exist, so it has no records to serve")
    parts = [TopicPartition(topic, number) for number in sorted(numbers)]
    consumer.assign(parts)
    consumer.seek_to_beginning(*parts)
    return consumer, parts


def _feed(consumer: Any, records: Records, is_over: Callable[[], bool]) -> None:
    while not is_over():
        for part, found in consumer.poll(_POLL_MS).items():
            for one in found:
                records.put(
                    part.partition, one.offset, (one.value or b"null").decode(errors="replace")
                )
