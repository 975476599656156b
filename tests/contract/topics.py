"""Topics for tests: how many replicas are in sync, and the values by partition and offset."""

from onceproof.kafka import topics
from onceproof.kafka.security import Brokers
from onceproof.kafka.topics import make_topic as make_topic
from onceproof.stacks.members.brokers import ask

Rows = dict[tuple[int, int], bytes]


def in_sync(brokers: Brokers, topic: str) -> list[int]:
    """Return the number of in-sync replicas of each partition."""
    (found,) = ask(brokers, lambda client: client.describe_topics([topic]))
    return [len(partition["isr_nodes"]) for partition in found["partitions"]]


def read_back(brokers: Brokers, topic: str, isolation: str = "read_uncommitted") -> Rows:
    """Return the records of a topic by partition and offset, at this isolation level."""
    found = topics.read_back(brokers, topic, isolation=isolation)
    return {(one.partition, one.offset): one.value for one in found}
