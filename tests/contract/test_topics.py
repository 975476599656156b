"""Topics of a run, on real brokers."""

import re

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from onceproof.errors import StackError
from onceproof.kafka.topics import drop_topic, look, make_topic, read_back
from onceproof.stacks.members.brokers import ask

pytestmark = pytest.mark.stack


MESSAGES = {
    "partitions": "topic narrow already has 1 partitions, not 4",
    "missing": "topic 'nowhere' does not exist",
}


def test_a_topic_keeps_its_records_for_ever_on_three_brokers(stack):
    name = make_topic(stack.brokers, "kept", 2)
    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    configs = ask(stack.brokers, lambda client: client.describe_configs([resource]))
    assert configs["topic"][name]["retention.ms"]["value"] == "-1"
    (found,) = ask(stack.brokers, lambda client: client.describe_topics([name]))
    assert {len(one["replica_nodes"]) for one in found["partitions"]} == {3}


def test_creating_it_again_changes_nothing(stack):
    make_topic(stack.brokers, "made-twice", 2)
    before = look(stack.brokers, ["made-twice"])
    make_topic(stack.brokers, "made-twice", 2)
    assert look(stack.brokers, ["made-twice"]) == before
    assert before["made-twice"]["partitions"] == {
        "0": {"start": 0, "end": 0},
        "1": {"start": 0, "end": 0},
    }


def test_a_topic_with_another_number_of_partitions_is_rejected(stack):
    make_topic(stack.brokers, "narrow", 1)
    with pytest.raises(StackError, match=re.escape(MESSAGES["partitions"])):
        make_topic(stack.brokers, "narrow", 4)


def test_a_recreated_topic_has_another_id(stack):
    make_topic(stack.brokers, "renewed", 1)
    before = look(stack.brokers, ["renewed"])["renewed"]["id"]
    drop_topic(stack.brokers, "renewed")
    drop_topic(stack.brokers, "renewed")
    make_topic(stack.brokers, "renewed", 1)
    assert look(stack.brokers, ["renewed"])["renewed"]["id"] != before


def test_a_missing_topic_is_an_error(stack):
    with pytest.raises(StackError, match=re.escape(MESSAGES["missing"])):
        look(stack.brokers, ["nowhere"])
    with pytest.raises(StackError, match=re.escape(MESSAGES["missing"])):
        list(read_back(stack.brokers, "nowhere"))


def test_a_topic_can_be_described_while_a_broker_is_down(stack, rng):
    make_topic(stack.brokers, "looked-at", 6)
    stack.apply("kill", "broker:any", rng)
    assert len(look(stack.brokers, ["looked-at"])["looked-at"]["partitions"]) == 6
