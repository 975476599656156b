"""Faults of a run's input, and the comparison of the ledger with the remaining records."""

import re
from random import Random
from types import SimpleNamespace

import pytest

from onceproof.errors import EvidenceError, StackError
from onceproof.faults import Scene
from onceproof.faults.registry import find_mechanism
from onceproof.kafka.topics import look, read_back
from onceproof.producing.settling import settle
from onceproof.runs.ledger import Ledger
from onceproof.runs.plan import FaultPart, Plan
from tests.contract.test_produce import plan, send

pytestmark = pytest.mark.stack


MESSAGES = {"foreign": "expiring-1 has 1 records", "recreated": "but the ledger has"}


def strike(stack, verb, topic, planned):
    job = SimpleNamespace(planned=lambda: planned)
    scene = Scene(Plan.of(plan(topic)), stack, job, Random(7))
    return find_mechanism(verb, "input").strike(FaultPart(verb, verb, "input", {}), scene)


def test_aborted_records_are_in_the_topic_but_not_in_the_input(stack, tmp_path):
    run = send(stack, tmp_path, "with-aborted", events=3000)
    proof = strike(stack, "abort", "with-aborted", {})
    assert (proof["aborted"], sorted(proof["offsets"])) == (400, ["0", "1", "2", "3"])
    read = {
        isolation: len(list(read_back(stack.brokers, "with-aborted", isolation=isolation)))
        for isolation in ("read_committed", "read_uncommitted")
    }
    assert read == {"read_committed": 3001, "read_uncommitted": 3401}
    ends = settle(run.ledger, stack.brokers, "with-aborted")
    assert sum(ends.values()) == 3001 + 400 + 4  # one marker per partition


def test_expired_records_remain_in_the_ledger_and_foreign_records_are_found(stack, tmp_path):
    run = send(stack, tmp_path, "expiring", events=1000)
    with pytest.raises(StackError, match="expiring"):
        strike(stack, "expire", "expiring", {("expiring", at): 10**6 for at in range(4)})
    proof = strike(stack, "expire", "expiring", {("expiring", 0): 5})
    found = look(stack.brokers, ["expiring"])["expiring"]["partitions"]
    assert proof["begins"] == {at: one["end"] for at, one in found.items()}
    assert proof["unread"]["0"] == proof["begins"]["0"] - 5
    settle(run.ledger, stack.brokers, "expiring")
    assert Ledger.read(run.ledger).acknowledged == 1001
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=stack.brokers.bootstrap)
    producer.send("expiring", b"stranger", partition=1).get(30)
    producer.close()
    with pytest.raises(EvidenceError, match=re.escape(MESSAGES["foreign"])):
        settle(run.ledger, stack.brokers, "expiring")


def test_a_topic_that_grows_is_read_whole_by_a_job_that_plans_its_new_partitions(stack, tmp_path):
    run = send(stack, tmp_path, "growing", events=1000)
    planned = {("growing", at): 1 for at in range(6)}
    proof = strike(stack, "grow", "growing", planned)
    assert proof == {"partitions_before": 4, "partitions": 8, "planned_new": [4, 5]}
    assert len(look(stack.brokers, ["growing"])["growing"]["partitions"]) == 8
    settle(run.ledger, stack.brokers, "growing")


def test_a_recreated_topic_does_not_match_the_ledger(stack, tmp_path):
    run = send(stack, tmp_path, "made-anew", events=1000)
    proof = strike(stack, "recreate", "made-anew", {})
    assert proof["id_before"] != proof["id_after"]
    with pytest.raises(EvidenceError, match=re.escape(MESSAGES["recreated"])):
        settle(run.ledger, stack.brokers, "made-anew")
