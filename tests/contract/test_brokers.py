"""Brokers by their roles, and the records of producers and readers while brokers crash."""

import threading
from collections import Counter
from contextlib import closing

import pytest
from kafka import KafkaProducer

from onceproof.kafka.admin import admin
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from tests.contract.topics import in_sync, make_topic, read_back
from tests.further import further_but

pytestmark = pytest.mark.stack
RECORDS = 8000
PATIENT = {
    "acks": "all",
    "linger_ms": 5,
    "request_timeout_ms": 4000,
    "delivery_timeout_ms": 120_000,
    "retry_backoff_ms": 50,
    "reconnect_backoff_max_ms": 500,
    "metadata_max_age_ms": 5000,
}


# A stop ends a leader as a kill does, and the rolling restart below stops all brokers.
@pytest.mark.parametrize("verb", further_but(["kill", "pause"], ["kill", "pause", "stop"]))
def test_the_leader_of_a_partition_is_struck_and_another_leads(stack, rng, verb):
    topic = make_topic(stack.brokers, f"led-{verb}", 1)
    done = stack.apply(verb, f"broker:leader={topic}/0", rng)
    before, after = done.proof["seat"]["before"], done.proof["seat"]["after"]
    assert done.member == f"broker:{before['broker']}"
    assert after["broker"] != before["broker"]
    assert after["epoch"] > before["epoch"]


def test_the_controller_is_struck_and_another_takes_over(stack, rng):
    done = stack.apply("kill", "broker:controller", rng)
    assert not Identity(done.proof["pid"], done.proof["started"]).is_alive
    assert done.proof["seat"]["after"]["epoch"] > done.proof["seat"]["before"]["epoch"]


def test_the_coordinator_of_a_transaction_is_the_broker_that_kafka_names(stack, rng):
    producer = KafkaProducer(
        bootstrap_servers=stack.brokers.bootstrap, acks="all", transactional_id="who-coordinates"
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(make_topic(stack.brokers, "coordinated", 1), b"open").get(30)
    with closing(admin(stack.brokers)) as client:
        description = client.describe_transactions(["who-coordinates"])["who-coordinates"]
    producer.abort_transaction()
    producer.close()
    done = stack.apply("kill", "broker:coordinator=who-coordinates", rng)
    assert done.member == f"broker:{description.coordinator_id}"
    assert done.proof["seat"]["after"]["broker"] != description.coordinator_id


def test_a_role_without_a_majority_left_says_so(stack, rng):
    topic = make_topic(stack.brokers, "orphaned", 1)
    stack.apply("kill", "broker:1", rng)
    wait_for(
        lambda: in_sync(stack.brokers, topic) == [2], 30, "the dead broker stays in the replicas"
    )
    done = stack.apply("kill", f"broker:leader={topic}/0", rng)
    assert done.proof["seat"]["after"] is None
    assert done.proof["seat"]["reason"] == "no majority of brokers is left"
    started = stack.apply("start", "broker:1", rng)
    assert started.proof["trouble"] == ""


def test_a_rolling_restart_loses_and_doubles_no_acknowledged_record(stack, rng):
    topic = make_topic(stack.brokers, "rolling")
    producer = KafkaProducer(bootstrap_servers=stack.brokers.bootstrap, **PATIENT)
    acked: dict[tuple[int, int], bytes] = {}
    failed: list[BaseException] = []
    rolled = threading.Event()

    def send() -> None:
        for number in range(RECORDS):
            value = b"%d" % number
            future = producer.send(topic, value=value, key=b"%d" % (number % 64))
            future.add_callback(lambda m, v=value: acked.update({(m.partition, m.offset): v}))
            future.add_errback(failed.append)
            if number >= RECORDS // 2:  # the second half lasts for as long as the restart does
                rolled.wait(120 if number == RECORDS - 100 else 0.002)
        producer.flush(120)

    thread = threading.Thread(target=send)
    thread.start()
    for name in ("broker:1", "broker:2", "broker:3"):
        stack.apply("stop", name, rng)
        stack.apply("start", name, rng)
        wait_for(lambda: in_sync(stack.brokers, topic) == [3] * 4, 60, f"{name} does not catch up")
    rolled.set()
    thread.join(180)
    producer.close()
    assert failed == []
    assert len(acked) == RECORDS
    assert read_back(stack.brokers, topic) == acked
    assert max(Counter(acked.values()).values()) == 1
