"""Topics of a run, as brokers have them."""

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from onceproof.errors import StackError
from onceproof.kafka.topics import drop_topic, look, make_topic, read_back
from onceproof.stacks.members.brokers import ask

pytestmark = pytest.mark.stack


def test_a_topic_keeps_its_records_for_ever_on_three_brokers(stack):
    name = make_topic(stack.brokers, "kept", 2)
    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    configs = ask(stack.brokers, lambda client: client.describe_configs([resource]))
    assert configs["topic"][name]["retention.ms"]["value"] == "-1"
    (found,) = ask(stack.brokers, lambda client: client.describe_topics([name]))
    assert {len(one["replica_nodes"]) for one in found["partitions"]} == {3}


def test_making_it_again_changes_nothing(stack):
    make_topic(stack.brokers, "made-twice", 2)
    before = look(stack.brokers, ["made-twice"])
    make_topic(stack.brokers, "made-twice", 2)
    assert look(stack.brokers, ["made-twice"]) == before
    assert before["made-twice"]["partitions"] == {
        "0": {"start": 0, "end": 0},
        "1": {"start": 0, "end": 0},
    }


def test_one_with_another_number_of_partitions_is_refused(stack):
    make_topic(stack.brokers, "narrow", 1)
    with pytest.raises(StackError, match="narrow is there with 1 partitions, and 4 are wanted"):
        make_topic(stack.brokers, "narrow", 4)


def test_a_topic_that_was_made_anew_has_another_id(stack):
    make_topic(stack.brokers, "renewed", 1)
    before = look(stack.brokers, ["renewed"])["renewed"]["id"]
    drop_topic(stack.brokers, "renewed")
    drop_topic(stack.brokers, "renewed")
    make_topic(stack.brokers, "renewed", 1)
    assert look(stack.brokers, ["renewed"])["renewed"]["id"] != before


def test_a_topic_that_is_not_there_is_missed(stack):
    with pytest.raises(StackError, match="there is no topic 'nowhere'"):
        look(stack.brokers, ["nowhere"])
    with pytest.raises(StackError, match="there is no topic 'nowhere'"):
        list(read_back(stack.brokers, "nowhere"))


def test_a_topic_can_be_looked_at_while_a_broker_is_dead(stack, rng):
    make_topic(stack.brokers, "looked-at", 6)
    stack.apply("kill", "broker:any", rng)
    assert len(look(stack.brokers, ["looked-at"])["looked-at"]["partitions"]) == 6
