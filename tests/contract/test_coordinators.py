"""The model's coordinator and Kafka's own give the same answers to the same requests."""

import pytest
from confluent_kafka import KafkaException, Producer

from onceproof.kafka.admin import admin
from onceproof.machine.polling import wait_for
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.coordinator import Coordinators, end_transaction
from tests.contract.topics import make_topic
from tests.model.transactions import Transactions

pytestmark = pytest.mark.stack
QUICKLY_MS, FOR_EVER_MS = 1000, 2_147_483_000
CASES = {
    "committed": ["init", "write", "commit", "commit", "abort"],
    "aborted": ["init", "write", "abort", "abort", "commit"],
    "expired": ["init", "write", "expire", "commit", "abort"],
    "taken over": ["init", "write", "init", "commit", "abort"],
    "taken over and open": ["init", "write", "init", "write", "commit", "abort"],
    "taken over when it was committed": ["init", "write", "commit", "init", "commit", "abort"],
    "never there": ["commit", "abort"],
    "written by a fenced producer": ["init", "write", "abort", "write"],
}


class Real:
    """Kafka's coordinator, with a producer for each step."""

    def __init__(self, stack, name, topic, timeout_ms):
        self.name, self.topic = name, topic
        self.timeout_ms, self.brokers = timeout_ms, stack.brokers
        self.ours = Coordinators(Cluster(stack.brokers.addresses))
        self.producer = self.first = None

    def init(self):
        settings = {"bootstrap.servers": self.brokers.bootstrap, "linger.ms": 0}
        settings |= {"transactional.id": self.name, "transaction.timeout.ms": self.timeout_ms}
        settings["error_cb"] = lambda error: None  # a fenced producer's record fails
        settings |= {"delivery.timeout.ms": min(self.timeout_ms, 30_000)}
        self.producer = Producer(settings)
        self.producer.init_transactions(30)
        self.producer.begin_transaction()
        return self.seen()

    def write(self):
        failed = []
        self.producer.produce(self.topic, b"row", on_delivery=lambda error, _: failed.append(error))
        try:
            self.producer.flush(30)
        except KafkaException:  # it was fenced
            return False, *self.seen()
        return failed == [None], *self.seen()

    def expire(self):
        wait_for(lambda: self.seen()[0] == "CompleteAbort", 30, "it does not expire")
        return self.seen()

    def end(self, commit):
        producer = getattr(self.ours.look([self.name]).get(self.name), "producer", 0)

        def answer():
            client = admin(self.brokers)
            try:
                error = end_transaction(client, self.name, producer, 0, commit=commit)
            finally:
                client.close()
            is_over = error.__name__ != "ConcurrentTransactionsError"
            return is_over and error.__name__.removesuffix("Error")

        error = wait_for(answer, 30, "it is not ended")
        return "ok" if error == "No" else error, *self.seen()

    def seen(self):
        found = self.ours.look([self.name]).get(self.name)
        return (found.state, found.epoch) if found else ("not there", 0)


class Fake:
    """The model's coordinator, with the same steps."""

    def __init__(self):
        self.books, self.epoch = Transactions(), 0

    def init(self):
        _, self.epoch = self.books.init("id")
        return self.seen()

    def write(self):
        return self.books.write("id", self.epoch), *self.seen()

    def expire(self):
        self.books.expire("id")
        return self.seen()

    def end(self, commit):
        found = self.books.known.get("id")
        producer = found.producer if found else 0
        return self.books.end("id", producer, 0, commit=commit), *self.seen()

    def seen(self):
        found = self.books.known.get("id")
        return (found.state, found.epoch) if found else ("not there", 0)


def played(who, steps):
    acts = {"commit": lambda: who.end(True), "abort": lambda: who.end(False)}
    return [(step, acts.get(step, getattr(who, step, None))()) for step in steps]


@pytest.mark.parametrize("case", CASES)
def test_the_models_coordinator_answers_as_kafkas_does(stack, case):
    topic = make_topic(stack.brokers, "coordinated", 1)
    timeout_ms = QUICKLY_MS if "expire" in CASES[case] else FOR_EVER_MS
    real = Real(stack, f"coordinated {case}", topic, timeout_ms)
    assert played(real, CASES[case]) == played(Fake(), CASES[case])


def test_ids_are_found_by_their_prefix_even_with_pattern_characters(stack):
    topic = make_topic(stack.brokers, "coordinated", 1)
    for name in ("onceproof:a.b-c:one:1", "onceproof:axb-c:one:1"):
        real = Real(stack, name, topic, FOR_EVER_MS)
        real.init(), real.write()
    found = real.ours.unfinished("onceproof:a.b-c:one:")
    assert list(found) == ["onceproof:a.b-c:one:1"]
    assert found["onceproof:a.b-c:one:1"].is_intact
    assert real.ours.look(["onceproof:a.b-c:one:1", "unknown"]) == found
    for name in ("onceproof:a.b-c:one:1", "onceproof:axb-c:one:1"):
        seen = real.ours.look([name])[name]
        assert real.ours.end(name, seen.producer, 0, commit=False)
    assert real.ours.unfinished("onceproof:a") == {}
