"""A part of a batch that its task writes to a topic, in a transaction of its own or staged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.sinks.files.parquet_rows import WROTE
from onceproof.sinks.protocol import Part
from onceproof.sinks.protocol.coordinated import id_of
from onceproof.sinks.topics.cluster import SOCKET_MS, Cluster

PATIENCE_S = 120.0
STAGED = "_part"  # the header of a staged record with the name of its part
_POLL_EVERY = 2000
_MORE = ("headers", "partition", "timestamp")
_ABORTED_WITHIN_S = 5.0


@dataclass
class TopicPart:
    """The records of one part, sent through a producer of its own.

    With a transactional id they are a transaction that the task leaves open for the driver to end.
    The client is then dropped without closing it, since closing would abort the transaction.
    """

    cluster: Cluster
    topic: str
    headers: tuple[tuple[str, bytes], ...] = ()
    transaction: str = ""
    timeout_ms: int = 0
    _producer: Any = field(init=False, default=None)
    _failed: list[Any] = field(init=False, default_factory=list)

    def write(self, rows: Any) -> None:
        """Produce rows whose columns are those of records, as in `rows`."""
        with _as_stack_error(self.topic):
            self._producer = self._producer or self._begun()
            produce, wait, topic = self._producer.produce, self._producer.poll, self.topic
            for number, (value, key, more) in enumerate(_records(rows, self.headers)):
                while True:
                    try:
                        produce(topic, value, key, **more)
                        break
                    except BufferError:
                        wait(0.1)
                if not number % _POLL_EVERY:
                    wait(0)

    def pre_commit(self) -> None:
        """Wait until all in-sync replicas have all records, then drop the producer."""
        try:
            with _as_stack_error(self.topic):
                left = self._producer.flush(PATIENCE_S)
        except SystemError:  # raised by the client if it is fenced in a delivery callback
            left = 1
        if left or self._failed:
            why = self._failed[0] if self._failed else f"{left} records are not acknowledged"
            raise StackError(f"{self.topic} did not store all records: {why}")
        self._producer = None

    def abort(self) -> None:
        """Abort the transaction, so that readers need not wait for a sweep."""
        producer, self._producer = self._producer, None
        if producer is not None and self.transaction:
            with suppress(Exception):  # a sweep aborts it later
                producer.purge()
                producer.abort_transaction(_ABORTED_WITHIN_S)

    def _begun(self) -> Any:
        more: dict[str, Any] = {"on_delivery": self._noted, "error_cb": self._troubled}
        if not self.transaction:
            more["delivery.timeout.ms"] = int(PATIENCE_S * 1000)
            return self.cluster.bulk(self.topic, **more)
        timeout = min(int(PATIENCE_S * 1000), self.timeout_ms)
        more |= {
            "transactional.id": self.transaction,
            "transaction.timeout.ms": self.timeout_ms,
            "delivery.timeout.ms": timeout,
            "socket.timeout.ms": min(SOCKET_MS, timeout),
            "request.timeout.ms": min(SOCKET_MS, timeout),
        }
        producer = self.cluster.bulk(self.topic, **more)
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        return producer

    def _noted(self, error: Any, message: Any) -> None:  # noqa: ARG002
        if error is not None:
            self._failed.append(error)

    def _troubled(self, error: Any) -> None:
        if error.fatal():  # fenced; without a callback the client raises an unclear error
            self._failed.append(error)


@dataclass(frozen=True)
class BeginTransaction:
    """A picklable function that begins the transaction of a part in its task."""

    target: Target
    head: str
    mark: str
    timeout_ms: int

    def __call__(self, part: Part) -> TopicPart:
        """Begin the transaction."""
        name, cluster = id_of(self.head, part, self.mark), Cluster.of(self.target)
        return TopicPart(cluster, self.target.name, transaction=name, timeout_ms=self.timeout_ms)


@dataclass(frozen=True)
class BeginStaged:
    """A picklable function that begins to stage a part; its records carry the part's name."""

    target: Target
    stage: str

    def __call__(self, part: Part) -> TopicPart:
        """Begin to stage."""
        headers = ((STAGED, part.name.encode()),)
        return TopicPart(Cluster.of(self.target), self.stage, headers)


def _records(rows: Any, signs: tuple[tuple[str, bytes], ...]) -> Iterator[tuple[Any, ...]]:
    """Yield value, key and further arguments of each record, with the signs among its headers."""
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    signed = [*signs, *((name, str(columns[name][0].as_py()).encode()) for name in WROTE)]
    values, keys, *rest = (
        columns[name].to_pylist() if name in columns else repeat(None, rows.num_rows)
        for name in ("value", "key", *_MORE)
    )
    if not columns.keys() & set(_MORE):
        return zip(values, keys, repeat({"headers": signed}), strict=False)
    more = (_more(signed, *cells) for cells in zip(*rest, strict=True))
    return zip(values, keys, more, strict=True)


def _more(signed: list[Any], headers: Any, partition: Any, moment: Any) -> dict[str, Any]:
    own = [(one["key"], one["value"]) for one in headers or ()]
    found: dict[str, Any] = {"headers": [*own, *signed]}
    if partition is not None:
        found["partition"] = partition
    if moment is not None:
        found["timestamp"] = int(moment.timestamp() * 1000)
    return found


@contextmanager
def _as_stack_error(topic: str) -> Iterator[None]:
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        why = " ".join(str(error).split())
        raise StackError(f"writing to {topic} failed: {why}") from None
