"""Kafka's coordinators of transactions, asked by anybody: what is open, and to end it.

No client ends a transaction that another has begun, so that one request is sent by kafka-python's
own protocol classes over its own connections: TLS and SASL come along. It is EndTxn in version 5,
which raises the epoch: whoever still writes in the transaction is fenced by its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from onceproof.errors import StackError
from onceproof.kafka.admin import ANSWERS_WITHIN_S, admin
from onceproof.machine.polling import wait_for
from onceproof.sinks.protocol.transactions import Seen
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.open_transactions import coordinators

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
