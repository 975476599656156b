"""Questions put to brokers that come and go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from onceproof.errors import StackError
from onceproof.kafka.security import Reachable
from onceproof.machine.polling import wait_for

T = TypeVar("T")
# Longer than brokers need to come back from an outage: they are asked while faults strike.
ANSWERS_WITHIN_S = 60


def admin(brokers: Reachable) -> Any:
    """Return a new admin client. One made earlier knows only the brokers of its own beginning."""
    from kafka import KafkaAdminClient
    from kafka.net.compat import KafkaNetClient

    # No setting of the admin client's own: a container that is dead does not refuse, it is silent.
    quick = {"socket_connection_setup_timeout_ms": 1000}
    return KafkaAdminClient(
        bootstrap_timeout_ms=2000,
        request_timeout_ms=2000,
        reconnect_backoff_ms=20,
        reconnect_backoff_max_ms=200,
        retry_backoff_ms=50,
        metadata_max_age_ms=1000,
        kafka_client=partial(KafkaNetClient, **quick),
        **brokers.for_kafka_python(),
    )


def ask_patiently(
    brokers: Reachable, question: Callable[[Any], T], limit_s: float = ANSWERS_WITHIN_S
) -> T:
    """Put a question to a new admin client, again and again while brokers come and go."""
    from kafka.errors import RetriableError

    said = "nothing"

    def answer() -> tuple[T] | None:
        nonlocal said
        try:
            with closing(admin(brokers)) as client:
                return (question(client),)
        except RetriableError as error:
            said = f"{type(error).__name__}: {error}"
            return None

    try:
        return wait_for(answer, limit_s, "the brokers do not answer")[0]
    except StackError as error:
        raise StackError(f"{error}; last heard: {said}") from None
