"""Admin requests that are retried while brokers are unavailable."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from onceproof.errors import StackError
from onceproof.kafka.security import Reachable
from onceproof.machine.polling import wait_for

T = TypeVar("T")
# Longer than brokers need to come back from an outage: requests are sent while faults strike.
ANSWERS_WITHIN_S = 60


def admin(brokers: Reachable) -> Any:
    """Return a new admin client; an older client only knows the brokers it was created with."""
    from kafka import KafkaAdminClient
    from kafka.net.compat import KafkaNetClient

    # The admin client has no such setting; a stopped container does not reject connections, so a
    # client would wait for the time-out.
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
    """Call `question` with a new admin client; retry on retriable errors until the limit."""
    from kafka.errors import RetriableError

    last_error = "none"

    def answer() -> tuple[T] | None:
        nonlocal last_error
        try:
            with closing(admin(brokers)) as client:
                return (question(client),)
        except RetriableError as error:
            last_error = f"{type(error).__name__}: {error}"
            return None

    try:
        return wait_for(answer, limit_s, "the brokers do not answer")[0]
    except StackError as error:
        raise StackError(f"{error}; last error: {last_error}") from None
