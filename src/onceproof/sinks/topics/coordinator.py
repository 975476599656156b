"""Kafka's coordinators of transactions, asked by anybody: what is open, what it hides, and its end.

No client ends a transaction that another has begun, so that one request is sent by kafka-python's
own protocol classes over its own connections: TLS and SASL come along. It is EndTxn in version 5,
which raises the epoch: whoever still writes in the transaction is fenced by its end.

A transaction that nobody ends hides every later record of its partitions from `read_committed`
readers, also those of other writers. It shows in the two ends of a partition: what was written, and
up to where readers get to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from onceproof.errors import StackError
from onceproof.kafka.admin import ANSWERS_WITHIN_S, admin
from onceproof.machine.polling import wait_for
from onceproof.sinks import Target
from onceproof.sinks.protocol.coordinated import Seen
from onceproof.sinks.topics.cluster import Cluster, described
from onceproof.sinks.topics.reader import ALL, COMMITTED, READ_AT_MOST_S, news, told

T = TypeVar("T")
_ENDING = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_UNFINISHED = ("Ongoing", *_ENDING)
_RETRY_S = 0.01


def end_transaction(client: Any, name: str, producer: int, epoch: int, *, commit: bool) -> Any:
    """Send the one request that no public call sends; return the class of Kafka's answer.

    It is the only place that goes behind the library's public words.
    """
    from kafka.errors import for_code
    from kafka.protocol.metadata import CoordinatorType
    from kafka.protocol.producer.transaction import EndTxnRequest

    request = EndTxnRequest[5](name, producer, epoch, commit)

    async def send() -> Any:
        node = await client._find_coordinator_id(name, CoordinatorType.TRANSACTION)
        return await client._manager.send(request, node_id=node)

    return for_code(client._manager.run(send).error_code)


@dataclass
class Coordinators:
    """The coordinators of a cluster, over one client that lasts until one of them is gone."""

    cluster: Cluster
    _client: Any = field(init=False, default=None)

    def unfinished(self, head: str) -> Mapping[str, Seen]:
        """Return all that is open and whose id begins so."""
        from re import escape

        def see(client: Any) -> Mapping[str, Seen] | None:
            found = client.list_transactions(
                coordinators(client),
                state_filters=list(_UNFINISHED),
                transactional_id_pattern=f"{escape(head)}.*",
            )
            listed = [one for many in found.values() for one in many]
            if any(one.state.value in _ENDING for one in listed):
                return None
            return self._described(client, [one.transactional_id for one in listed])

        return self._once(see, "a transaction is being ended, and does not come to its end")

    def look(self, names: Iterable[str]) -> Mapping[str, Seen]:
        """Return what is known of ids, none of which is just being ended."""
        asked = list(names)

        def see(client: Any) -> Mapping[str, Seen] | None:
            found = self._described(client, asked)
            return None if any(one.state in _ENDING for one in found.values()) else found

        return self._once(see, "a transaction is being ended, and does not come to its end")

    def end(self, name: str, producer: int, epoch: int, *, commit: bool) -> bool:
        """End a transaction."""
        from kafka.errors import (
            InvalidProducerEpochError,
            InvalidProducerIdMappingError,
            InvalidTxnStateError,
            NoError,
            ProducerFencedError,
        )

        known = {NoError: True} | dict.fromkeys(
            [
                *(InvalidProducerEpochError, InvalidProducerIdMappingError),
                *(InvalidTxnStateError, ProducerFencedError),
            ],
            False,
        )

        def send(client: Any) -> tuple[bool] | None:
            said = end_transaction(client, name, producer, epoch, commit=commit)
            if said.__name__ == "ConcurrentTransactionsError":
                return None
            if said not in known:
                raise said(name)
            return (known[said],)

        return self._once(send, f"{name} is not ended")[0]

    def close(self) -> None:
        """Close the client; the next question makes one."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # it is one whose broker is gone
                client.close()

    def _described(self, client: Any, names: list[str]) -> dict[str, Seen]:
        from kafka.errors import TransactionalIdNotFoundError

        try:
            found = client.describe_transactions(names)
        except TransactionalIdNotFoundError:
            if len(names) == 1:
                return {}
            return {name: one for n in names for name, one in self._described(client, [n]).items()}
        return {
            name: Seen(
                one.state.value,
                one.producer_id,
                one.producer_epoch,
                one.transaction_start_time_ms,
                one.transaction_timeout_ms,
            )
            for name, one in found.items()
        }

    def _once(self, question: Callable[[Any], T | None], words: str) -> T:
        """Ask until there is an answer that is not None; brokers may come and go meanwhile."""
        from kafka.errors import KafkaError, RetriableError

        said = words

        def answered() -> tuple[T] | None:
            nonlocal said
            try:
                self._client = self._client or admin(self.cluster)
                found = question(self._client)
            except (RetriableError, OSError) as error:
                said = f"{type(error).__name__}: {error}"
                self.close()
                return None
            except KafkaError as error:
                self.close()
                raise StackError(f"the brokers refuse: {type(error).__name__}: {error}") from None
            return None if found is None else (found,)

        try:
            return wait_for(answered, ANSWERS_WITHIN_S, words, every_s=_RETRY_S)[0]
        except StackError as error:
            raise StackError(f"{error}; last heard: {said}") from None


def open_in(target: Target) -> tuple[int, int]:
    """Return how many transactions are open, and how many records stand where nobody sees them.

    The transactions' own are among them.
    """
    found = blockers(target)
    return len(found), hidden(target) if found else 0


def blockers(target: Target) -> list[str]:
    """Return the transactional ids of all that is open in a topic, whoever began it.

    One that no coordinator knows is told by its producer's number: its broker forgot it.
    """
    from kafka import TopicPartition

    def see(client: Any) -> list[str]:
        found = described(client, target.name)["partitions"]
        parts = [TopicPartition(target.name, one["partition_index"]) for one in found]
        producers = {
            one.producer_id
            for state in client.describe_producers(parts).values()
            for one in state.active_producers
            if one.current_transaction_start_offset >= 0
        }
        if not producers:
            return []
        listed = client.list_transactions(coordinators(client), producer_id_filters=list(producers))
        names = {one.producer_id: one.transactional_id for many in listed.values() for one in many}
        return sorted(names.get(one, f"producer {one}") for one in producers)

    return Cluster.of(target).ask(see)


def coordinators(client: Any) -> Sequence[int]:
    """Return the brokers that together know every transaction, or raise while there is one amiss.

    A client that asks those it happens to know is told of less, without a word.
    """
    from kafka.errors import CoordinatorNotAvailableError

    (state,) = client.describe_topics(["__transaction_state"])
    leaders = {one["leader_id"] for one in state["partitions"]}
    if -1 in leaders:
        raise CoordinatorNotAvailableError("a part of the transactions has no coordinator")
    return sorted(leaders)


def hidden(target: Target) -> int:
    """Return how many records stand behind the last that a `read_committed` reader gets."""
    from kafka import TopicPartition

    cluster = Cluster.of(target)
    with told(target), closing(cluster.consumer(COMMITTED)) as reader:
        numbers = reader.partitions_for_topic(target.name) or ()
        ends = reader.end_offsets([TopicPartition(target.name, one) for one in numbers])
    places = {one.partition: end for one, end in ends.items()}
    with told(target), closing(cluster.consumer(ALL)) as reader:
        return sum(1 for _ in news(reader, target.name, places, READ_AT_MOST_S))
