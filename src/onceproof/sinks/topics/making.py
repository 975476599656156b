"""Topics that sinks write to, made and removed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from onceproof.schema.kinds import Field
from onceproof.schema.scalars import whole
from onceproof.sinks import Target
from onceproof.sinks.topics.cluster import Cluster, described

_REPLICAS, _IN_SYNC = 3, 2
_PARTITIONS = 4
OPTIONS: Mapping[str, Field] = {
    "partitions": Field(whole(1, 1000), "partitions that the topic gets", _PARTITIONS)
}


def make_target(client: Any, target: Target) -> None:
    """Make a target that keeps its records for ever; one that is there stays as it is.

    The option `partitions` says how many it gets.
    """
    partitions = int(target.options.get("partitions", _PARTITIONS))
    make_kept(client, target.name, partitions)


def make_kept(client: Any, topic: str, partitions: int) -> None:
    """Make a topic of which nothing expires, and which loses nothing with one broker."""
    from kafka.admin import NewTopic
    from kafka.errors import TopicAlreadyExistsError

    replicas = min(_REPLICAS, len(client.describe_cluster()["brokers"]))
    kept: Mapping[str, str] = {
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "cleanup.policy": "delete",
        "min.insync.replicas": str(min(_IN_SYNC, replicas)),
    }
    with suppress(TopicAlreadyExistsError):
        client.create_topics([NewTopic(topic, partitions, replicas, topic_configs=kept)])
    client.wait_for_topics([topic])


def drop(cluster: Cluster, *topics: str) -> None:
    """Remove topics; one that is not there is gone already."""
    from kafka.errors import UnknownTopicOrPartitionError

    def remove(client: Any) -> None:
        for topic in topics:
            with suppress(UnknownTopicOrPartitionError):
                client.delete_topics([topic])

    cluster.ask(remove)


def partitions_of(client: Any, topic: str) -> int:
    """Return how many partitions a topic has."""
    return len(described(client, topic)["partitions"])


def is_there(cluster: Cluster, topic: str) -> bool:
    """Whether a topic is there."""
    found: bool = cluster.ask(lambda client: topic in client.list_topics())
    return found
