"""Topics for tests: made, and read back by offset."""

from collections.abc import Sequence
from contextlib import closing

from kafka import KafkaConsumer, TopicPartition
from kafka.admin import NewTopic

from onceproof.stacks.brokers import admin, ask

Rows = dict[tuple[int, int], bytes]


def make_topic(bootstrap: Sequence[str], name: str, partitions: int = 4) -> str:
    with closing(admin(bootstrap)) as client:
        config = {"retention.ms": "-1"}
        client.create_topics([NewTopic(name, partitions, 3, topic_configs=config)])
        client.wait_for_topics([name])
    return name


def in_sync(bootstrap: Sequence[str], topic: str) -> list[int]:
    """The number of replicas in sync, a partition."""
    (found,) = ask(bootstrap, lambda client: client.describe_topics([topic]))
    return [len(partition["isr_nodes"]) for partition in found["partitions"]]


def read_back(bootstrap: Sequence[str], topic: str, isolation: str = "read_uncommitted") -> Rows:
    """Every record of a topic by partition and offset, as far as this isolation level sees."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, isolation_level=isolation
    )
    parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    consumer.assign(parts)
    consumer.seek_to_beginning(*parts)
    end = consumer.end_offsets(parts)
    rows: Rows = {}
    while any(consumer.position(part) < end[part] for part in parts):
        for part, records in consumer.poll(500).items():
            rows |= {(part.partition, record.offset): record.value for record in records}
    consumer.close()
    return rows
