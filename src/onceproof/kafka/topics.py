"""Topics of a run: creating them without retention limits, describing, reading, dropping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from onceproof.errors import StackError
from onceproof.kafka.admin import ANSWERS_WITHIN_S, ask_patiently
from onceproof.kafka.security import Brokers
from onceproof.machine.polling import wait_for

_REPLICAS = 3
_NO_SUCH_TOPIC = 3  # in Kafka's protocol
# A broker may learn of a new topic a moment after the others.
_MISSING_AT_MOST = 30


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic with its partition and offset."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


def make_topic(brokers: Brokers, name: str, partitions: int = 4) -> str:
    """Create a topic without retention limits unless it exists; return its name.

    Raises if it has another number of partitions: keys would be in other partitions.
    """
    from kafka.admin import NewTopic
    from kafka.errors import TopicAlreadyExistsError

    def make(client: Any) -> None:
        replicas = min(_REPLICAS, len(client.describe_cluster()["brokers"]))
        config = {"retention.ms": "-1"}
        with suppress(TopicAlreadyExistsError):
            client.create_topics([NewTopic(name, partitions, replicas, topic_configs=config)])
        client.wait_for_topics([name])

    ask_patiently(brokers, make)
    found = len(look(brokers, [name])[name]["partitions"])
    if found != partitions:
        raise StackError(
            f"topic {name} already has {found} partitions, not {partitions}; drop it, or use"
            " another name"
        )
    return name


def look(brokers: Brokers, names: Sequence[str]) -> dict[str, Any]:
    """Return each topic's id, and the start and end of its partitions: proof of `input.topics`.

    `end` is the next offset to be written. With transactions, offsets do not count records.
    """
    from kafka import TopicPartition
    from kafka.admin import OffsetSpec
    from kafka.errors import for_code

    missing = 0

    def see(client: Any) -> dict[str, Any]:
        nonlocal missing
        topics: dict[str, Any] = {}
        for found in client.describe_topics(list(names)):
            name = found["name"]
            if code := found["error_code"]:
                missing += code == _NO_SUCH_TOPIC
                raise for_code(code)(name) if missing <= _MISSING_AT_MOST else _no_topic(name)
            parts = [TopicPartition(name, one["partition_index"]) for one in found["partitions"]]
            starts, ends = (
                client.list_partition_offsets(dict.fromkeys(parts, spec))
                for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
            )
            topics[name] = {
                "id": str(found["topic_id"]),
                "partitions": {
                    str(part.partition): {"start": starts[part].offset, "end": ends[part].offset}
                    for part in sorted(parts)
                },
            }
        return topics

    return ask_patiently(brokers, see)


def are_in_sync(brokers: Brokers, name: str) -> bool:
    """Whether all replicas of a topic are in sync."""

    def see(client: Any) -> bool:
        (found,) = client.describe_topics([name])
        parts = found["partitions"]
        return bool(parts) and all(len(p["isr_nodes"]) == len(p["replica_nodes"]) for p in parts)

    return ask_patiently(brokers, see)


def expire(brokers: Brokers, name: str, ends: Mapping[int, int]) -> dict[int, int]:
    """Delete the records before these offsets; return the new start of each partition."""
    from kafka import TopicPartition

    wanted = {TopicPartition(name, partition): end for partition, end in ends.items()}
    ask_patiently(brokers, lambda client: client.delete_records(wanted))
    found = look(brokers, [name])[name]["partitions"]
    return {int(partition): bounds["start"] for partition, bounds in found.items()}


def grow_topic(brokers: Brokers, name: str, partitions: int) -> None:
    """Increase the number of a topic's partitions."""
    ask_patiently(brokers, lambda client: client.create_partitions({name: partitions}))


def drop_topic(brokers: Brokers, name: str) -> None:
    """Remove a topic; does nothing if it does not exist."""
    from kafka.errors import UnknownTopicOrPartitionError

    def drop(client: Any) -> None:
        with suppress(UnknownTopicOrPartitionError):
            client.delete_topics([name])

    ask_patiently(brokers, drop)


def read_back(
    brokers: Brokers,
    topic: str,
    partitions: Sequence[int] | None = None,
    isolation: str = "read_uncommitted",
) -> Iterator[TopicRecord]:
    """Yield every record up to the current ends, in order within each partition."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        **brokers.for_kafka_python(),
        enable_auto_commit=False,
        isolation_level=isolation,
        auto_offset_reset="none",
        max_poll_records=5000,
        bootstrap_timeout_ms=ANSWERS_WITHIN_S * 1000,
        metrics_enabled=False,
    )
    with closing(consumer):
        numbers = consumer.partitions_for_topic(topic) if partitions is None else partitions
        parts = [TopicPartition(topic, number) for number in sorted(numbers or ())]
        if not parts:
            raise _no_topic(topic)
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        yield from _drain(consumer, consumer.end_offsets(parts))


def _drain(consumer: Any, ends: Mapping[Any, int]) -> Iterator[TopicRecord]:
    def is_read() -> bool:
        return all(consumer.position(part) >= end for part, end in ends.items())

    def read_on() -> tuple[Any, ...]:
        found = tuple(consumer.poll(500).items())
        return found or ((None, ()),) * is_read()  # the last may be markers, which are not returned

    while not is_read():
        for part, records in wait_for(read_on, ANSWERS_WITHIN_S, "a topic was not read to its end"):
            for one in records:
                if one.offset < ends[part]:
                    headers = tuple(map(tuple, one.headers or ()))
                    yield TopicRecord(part.partition, one.offset, one.key, one.value, headers)


def _no_topic(name: str) -> StackError:
    return StackError(f"topic {name!r} does not exist: it was never created, or was removed")
