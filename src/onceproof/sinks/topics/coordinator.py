"""Kafka's transaction coordinators: listing and ending transactions of any client.

No client library ends a transaction that another client has begun. This one request, EndTxn in
version 5, is sent with kafka-python's protocol classes over its connections, including TLS and
SASL. It raises the epoch, so a producer that still writes in the transaction is fenced.

A transaction that is never ended hides all later records of its partitions from `read_committed`
readers, also those of other writers. It shows as the difference between a partition's end offset
and its last stable offset.
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
from onceproof.sinks.topics.reader import ALL, COMMITTED, READ_AT_MOST_S, as_stack_error, news

T = TypeVar("T")
_ENDING = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_UNFINISHED = ("Ongoing", *_ENDING)
_RETRY_S = 0.01


def end_transaction(client: Any, name: str, producer: int, epoch: int, *, commit: bool) -> Any:
    """Send EndTxn, which the library's public API cannot; return the class of Kafka's answer.

    This is the only use of the library's private attributes.
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
    """The coordinators of a cluster; the client is kept until a request fails."""

    cluster: Cluster
    _client: Any = field(init=False, default=None)

    def unfinished(self, head: str) -> Mapping[str, Seen]:
        """Return the open transactions whose ids begin with `head`."""
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

        return self._once(see, "a transaction that is being ended did not complete")

    def look(self, names: Iterable[str]) -> Mapping[str, Seen]:
        """Return the states of the ids that are known, once none of them is being ended."""
        asked = list(names)

        def see(client: Any) -> Mapping[str, Seen] | None:
            found = self._described(client, asked)
            return None if any(one.state in _ENDING for one in found.values()) else found

        return self._once(see, "a transaction that is being ended did not complete")

    def end(self, name: str, producer: int, epoch: int, *, commit: bool) -> bool:
        """End a transaction."""
        from kafka.errors import (
            InvalidProducerEpochError,
            InvalidProducerIdMappingError,
            InvalidTxnStateError,
            NoError,
            ProducerFencedError,
        )

        answers = {NoError: True} | dict.fromkeys(
            [
                *(InvalidProducerEpochError, InvalidProducerIdMappingError),
                *(InvalidTxnStateError, ProducerFencedError),
            ],
            False,
        )

        def send(client: Any) -> tuple[bool] | None:
            error = end_transaction(client, name, producer, epoch, commit=commit)
            if error.__name__ == "ConcurrentTransactionsError":
                return None
            if error not in answers:
                raise error(name)
            return (answers[error],)

        return self._once(send, f"transaction {name} was not ended")[0]

    def close(self) -> None:
        """Close the client; the next call creates a new one."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # its broker may be gone
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
        # retry while the answer is None or brokers are unavailable
        from kafka.errors import KafkaError, RetriableError

        last_error = words

        def answered() -> tuple[T] | None:
            nonlocal last_error
            try:
                self._client = self._client or admin(self.cluster)
                found = question(self._client)
            except (RetriableError, OSError) as error:
                last_error = f"{type(error).__name__}: {error}"
                self.close()
                return None
            except KafkaError as error:
                self.close()
                raise StackError(
                    f"request rejected by brokers: {type(error).__name__}: {error}"
                ) from None
            return None if found is None else (found,)

        try:
            return wait_for(answered, ANSWERS_WITHIN_S, words, every_s=_RETRY_S)[0]
        except StackError as error:
            raise StackError(f"{error}; last error: {last_error}") from None


def open_in(target: Target) -> tuple[int, int]:
    """Return the number of open transactions, and of records hidden from readers.

    The hidden records include those of the transactions.
    """
    found = blockers(target)
    return len(found), hidden(target) if found else 0


def blockers(target: Target) -> list[str]:
    """Return the transactional ids of all open transactions in a topic, of any client.

    A transaction that its coordinator has forgotten is listed as `producer ID`.
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
    """Return the brokers that coordinate all transactions; raises while a coordinator is missing.

    By default a client asks only the brokers that it knows, so its list may silently lack some.
    """
    from kafka.errors import CoordinatorNotAvailableError

    (state,) = client.describe_topics(["__transaction_state"])
    leaders = {one["leader_id"] for one in state["partitions"]}
    if -1 in leaders:
        raise CoordinatorNotAvailableError("a partition of __transaction_state has no leader")
    return sorted(leaders)


def hidden(target: Target) -> int:
    """Return the number of records after the last stable offset."""
    from kafka import TopicPartition

    cluster = Cluster.of(target)
    with as_stack_error(target), closing(cluster.consumer(COMMITTED)) as reader:
        numbers = reader.partitions_for_topic(target.name) or ()
        ends = reader.end_offsets([TopicPartition(target.name, one) for one in numbers])
    places = {one.partition: end for one, end in ends.items()}
    with as_stack_error(target), closing(cluster.consumer(ALL)) as reader:
        return sum(1 for _ in news(reader, target.name, places, READ_AT_MOST_S))
