"""Kafka in KRaft mode: members that are broker and controller at once.

Each has three listeners, for clients, for its fellow brokers and for controllers, so that a proxy
can be put before any of them.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from onceproof.kafka.admin import admin
from onceproof.kafka.security import PLAIN, Brokers, Reachable
from onceproof.machine.identity import Identity
from onceproof.stacks import VERBS
from onceproof.stacks.state import State

T = TypeVar("T")
LISTENERS = ("client", "broker", "controller")
OUTSIDE = "outside"  # a fourth, where clients come from beyond the brokers' own network
# The voters' own word is older than this only while one of them does not follow.
_FOLLOWS_WITHIN_MS = 3000
_LOOKS = 6


@dataclass(frozen=True)
class Broker:
    """One broker of the stack."""

    state: State
    number: int

    kind = "broker"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def name(self) -> str:
        """`broker:N`, N being Kafka's node id."""
        return f"broker:{self.number}"

    @property
    def address(self) -> str:
        """Where clients reach it."""
        return f"{self.state.host(self.name)}:{self.state.door(f'{self.name}/client')}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        host = self.state.host(self.name)
        return [(host, self.state.ports[f"{self.name}/{kind}"]) for kind in LISTENERS]

    def needs(self, living: Collection[str]) -> str:
        """Say what must live beside it before it can serve; empty if all of it does."""
        alive = sum(name.startswith("broker:") for name in {*living, self.name})
        return "" if alive > self.state.brokers // 2 else "a majority of the brokers"

    def make_way(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: one JVM."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps this broker from serving; empty if it serves and is in the quorum."""
        from kafka.errors import KafkaError

        try:
            socket.create_connection(self.listens_on[0], timeout=1).close()
            return ask(Brokers((self.address,), PLAIN), self._trouble)
        except OSError as error:
            return f"{self.address} does not answer: {error}"
        except KafkaError as error:
            return f"{type(error).__name__}: {error}"

    def _trouble(self, client: Any) -> str:
        cluster = client.describe_cluster()
        if cluster["cluster_id"] != self.state.cluster_id:
            return f"another cluster answers there: {cluster['cluster_id']}"
        if self.number not in [broker["broker_id"] for broker in cluster["brokers"]]:
            return "the controller has not let it serve"
        quorum = metadata_quorum(client)
        voters = {voter["replica_id"]: voter for voter in quorum["current_voters"]}
        if quorum["leader_id"] < 0 or self.number not in voters:
            return "it is not in the quorum"
        behind_ms = time.time() * 1000 - voters[self.number]["last_caught_up_timestamp"]
        is_behind = self.number != quorum["leader_id"] and behind_ms > _FOLLOWS_WITHIN_MS
        return f"it is {behind_ms:.0f} ms behind the controller" if is_behind else ""


def ask(brokers: Reachable, question: Callable[[Any], T]) -> T:
    """Return the answer to a question that is put to a new admin client.

    A client passes a question on to any broker of the cluster, for seconds also to one that is
    dead: so one that got no answer is asked again.
    """
    from kafka.errors import KafkaConnectionError, KafkaTimeoutError

    for look in range(_LOOKS):
        try:
            with closing(admin(brokers)) as client:
                return question(client)
        except (KafkaConnectionError, KafkaTimeoutError):
            if look == _LOOKS - 1:
                raise
    raise AssertionError(_LOOKS)


def metadata_quorum(client: Any) -> dict[str, Any]:
    """Return the controllers' quorum: `leader_id`, `leader_epoch`, `current_voters`."""
    answer: dict[str, Any] = client.describe_metadata_quorum()["topics"][0]["partitions"][0]
    return answer
