"""One part of a batch, written to a topic by its task: in a transaction of its own, or staged."""

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
STAGED = "_part"  # the header of a staged record that says whose it is
_POLL_EVERY = 2000
_MORE = ("headers", "partition", "timestamp")
_ABORTED_WITHIN_S = 5.0


@dataclass
class TopicPart:
    """Records on their way through a producer that one part has for itself.

    With a transactional id they are a transaction, which its task leaves open: whoever decides
    ends it. The client is then dropped without a word, since to close it would abort.
    """

    cluster: Cluster
    topic: str
    headers: tuple[tuple[str, bytes], ...] = ()
    transaction: str = ""
    timeout_ms: int = 0
    _producer: Any = field(init=False, default=None)
    _failed: list[Any] = field(init=False, default_factory=list)

    def write(self, rows: Any) -> None:
        """Produce some rows, which are records as `rows` makes them."""
        with _said(self.topic):
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
        """Wait until all records are at all replicas that are in sync, then let go of them."""
        try:
            with _said(self.topic):
                left = self._producer.flush(PATIENCE_S)
        except SystemError:  # so the client says that it was fenced while it told us
            left = 1
        if left or self._failed:
            said = self._failed[0] if self._failed else f"{left} records are not acknowledged"
            raise StackError(f"{self.topic} did not take all records: {said}")
        self._producer = None

    def abort(self) -> None:
        """Abort the transaction, so that nothing waits for whoever sweeps."""
        producer, self._producer = self._producer, None
        if producer is not None and self.transaction:
            with suppress(Exception):  # it is swept where that fails
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
        if error.fatal():  # it was fenced; without a callback the client fails in odd words
            self._failed.append(error)


@dataclass(frozen=True)
class BeginTransaction:
    """Begins the transaction of a part in its task; this is what is sent there."""

    target: Target
    head: str
    mark: str
    timeout_ms: int

    def __call__(self, part: Part) -> TopicPart:
        """Begin."""
        name, cluster = id_of(self.head, part, self.mark), Cluster.of(self.target)
        return TopicPart(cluster, self.target.name, transaction=name, timeout_ms=self.timeout_ms)


@dataclass(frozen=True)
class BeginStaged:
    """Begins to stage a part, whose records carry its name."""

    target: Target
    stage: str

    def __call__(self, part: Part) -> TopicPart:
        """Begin."""
        headers = ((STAGED, part.name.encode()),)
        return TopicPart(Cluster.of(self.target), self.stage, headers)


def _records(rows: Any, signs: tuple[tuple[str, bytes], ...]) -> Iterator[tuple[Any, ...]]:
    """Yield value and key of each row, and what else is told of it: who wrote it at least."""
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    signed = [*signs, *((name, str(columns[name][0].as_py()).encode()) for name in WROTE)]
    values, keys, *rest = (
        columns[name].to_pylist() if name in columns else repeat(None, rows.num_rows)
        for name in ("value", "key", *_MORE)
    )
    if not columns.keys() & set(_MORE):
        return zip(values, keys, repeat({"headers": signed}), strict=False)
    more = (_more(signed, *told) for told in zip(*rest, strict=True))
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
def _said(topic: str) -> Iterator[None]:
    """Tell what the client raises in one sentence."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        said = " ".join(str(error).split())
        raise StackError(f"{topic} does not take what is written: {said}") from None
