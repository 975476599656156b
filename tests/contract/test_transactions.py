"""Transactions on real brokers: ended, fenced, and ended by a process that did not begin them."""

import subprocess
import sys
from contextlib import closing

import pytest
from kafka import KafkaProducer
from kafka.errors import CoordinatorLoadInProgressError, NotCoordinatorError, ProducerFencedError
from kafka.protocol.producer.transaction import EndTxnRequest

from onceproof.kafka.admin import admin
from onceproof.machine.polling import wait_for
from onceproof.stacks.local.stack import LocalStack
from tests.contract.topics import make_topic, read_back

pytestmark = pytest.mark.stack
# Writes, flushes, and exits with its transaction open, without closing the client.
DIES_PREPARED = """
import os, sys
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=sys.argv[1].split(","), acks="all",
                         transactional_id=sys.argv[2], transaction_timeout_ms=2147483647)
producer.init_transactions()
producer.begin_transaction()
producer.send(sys.argv[3], b"prepared").get(30)
os._exit(9)
"""


def transactional(stack: LocalStack, name: str) -> KafkaProducer:
    producer = KafkaProducer(
        bootstrap_servers=stack.brokers.bootstrap, acks="all", transactional_id=name, linger_ms=0
    )
    producer.init_transactions()
    producer.begin_transaction()
    return producer


def committed(stack: LocalStack, topic: str) -> list[bytes]:
    return sorted(read_back(stack.brokers, topic, "read_committed").values())


def describe(stack: LocalStack, name: str):
    """Return the coordinator's description; after a restart it is missing for some moments."""

    def look():
        with closing(admin(stack.brokers)) as client:
            try:
                return client.describe_transactions([name])[name]
            except (CoordinatorLoadInProgressError, NotCoordinatorError):
                return None

    return wait_for(look, 30, f"{name} has no coordinator")


def end(stack: LocalStack, name: str, *, commit: bool) -> int:
    """End a transaction by producer id and epoch, as any process may; 0 is success."""
    found = describe(stack, name)
    request = EndTxnRequest[5](name, found.producer_id, found.producer_epoch, commit)
    with closing(admin(stack.brokers)) as client:
        manager = client._manager
        return manager.run(manager.send, request, found.coordinator_id).error_code


def test_committed_records_are_visible_and_aborted_ones_are_not(stack):
    topic = make_topic(stack.brokers, "ended", 1)
    producer = transactional(stack, "ends")
    producer.send(topic, b"committed").get(30)
    producer.commit_transaction()
    producer.begin_transaction()
    producer.send(topic, b"aborted").get(30)
    producer.abort_transaction()
    producer.close()
    assert committed(stack, topic) == [b"committed"]
    assert sorted(read_back(stack.brokers, topic).values()) == [b"aborted", b"committed"]


def test_a_zombie_is_fenced_by_a_second_producer_of_its_id(stack):
    topic = make_topic(stack.brokers, "fenced", 1)
    zombie = transactional(stack, "twice")
    zombie.send(topic, b"zombie").get(30)
    second = transactional(stack, "twice")
    second.send(topic, b"second").get(30)
    second.commit_transaction()
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction()
    zombie.close(timeout=1)
    second.close()
    assert committed(stack, topic) == [b"second"]


@pytest.mark.parametrize(("commit", "seen"), [(True, [b"prepared"]), (False, [])])
def test_another_process_ends_the_transaction_of_a_crashed_one(stack, commit, seen):
    name = f"prepared-{commit}"
    topic = make_topic(stack.brokers, name, 1)
    command = [sys.executable, "-c", DIES_PREPARED, stack.brokers.bootstrap, name, topic]
    assert subprocess.run(command, check=False, timeout=60).returncode == 9
    assert describe(stack, name).state.value == "Ongoing"
    assert committed(stack, topic) == []
    assert end(stack, name, commit=commit) == 0
    state = "CompleteCommit" if commit else "CompleteAbort"
    wait_for(lambda: describe(stack, name).state.value == state, 30, "it does not complete")
    assert committed(stack, topic) == seen


def test_a_prepared_transaction_outlives_the_death_of_every_broker(stack, rng):
    topic = make_topic(stack.brokers, "outlives", 1)
    command = [sys.executable, "-c", DIES_PREPARED, stack.brokers.bootstrap, "outlives", topic]
    assert subprocess.run(command, check=False, timeout=60).returncode == 9
    for name in ("broker:1", "broker:2", "broker:3"):
        stack.apply("kill", name, rng)
    started = [stack.apply("start", f"broker:{number}", rng) for number in (1, 2, 3)]
    assert started[0].proof["trouble"] == "waits for a majority of the brokers"
    assert describe(stack, "outlives").state.value == "Ongoing"
    wait_for(lambda: end(stack, "outlives", commit=True) == 0, 30, "it cannot be committed")
    wait_for(lambda: committed(stack, topic) == [b"prepared"], 30, "it is not seen")
