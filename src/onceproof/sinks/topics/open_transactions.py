"""Transactions that are open in a topic, and what they hide.

One that nobody ends hides every later record of its partitions from `read_committed` readers, also
those of other writers. It shows in the two ends of a partition: what was written, and up to where
readers get to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from onceproof.sinks import Target
from onceproof.sinks.topics.cluster import Cluster, described
from onceproof.sinks.topics.news import ALL, COMMITTED, news
from onceproof.sinks.topics.reader import READ_AT_MOST_S, told


def open_in(target: Target) -> tuple[int, int]:
    """Return how many transactions are open, and how many records stand where nobody sees them.

    The transactions' own are among them.
    """
    found = blockers(target)
    return len(found), hidden(target) if found else 0


def blockers(target: Target) -> list[str]:
    """Return the transactional ids of all that is open in a topic, whoever began it.

    One that no coordinator knows is told by its producer's number: its broker forgot it.
    """
    from kafka import TopicPartition

    def see(client: Any) -> list[str]:
        found = described(client, target.name)["partitions"]
        parts = [TopicPartition(target.name, one["partition_index"]) for one in found]
        producers = {
            one.producer_id
            for state in client.describe_producers(parts).values()
            for one in state.active_producers
            if one.current_transaction_start_offset >= 0
        }
        if not producers:
            return []
        listed = client.list_transactions(coordinators(client), producer_id_filters=list(producers))
        names = {one.producer_id: one.transactional_id for many in listed.values() for one in many}
        return sorted(names.get(one, f"producer {one}") for one in producers)

    return Cluster.of(target).ask(see)


def coordinators(client: Any) -> Sequence[int]:
    """Return the brokers that together know every transaction, or raise while there is one amiss.

    A client that asks those it happens to know is told of less, without a word.
    """
    from kafka.errors import CoordinatorNotAvailableError

    (state,) = client.describe_topics(["__transaction_state"])
    leaders = {one["leader_id"] for one in state["partitions"]}
    if -1 in leaders:
        raise CoordinatorNotAvailableError("a part of the transactions has no coordinator")
    return sorted(leaders)


def hidden(target: Target) -> int:
    """Return how many records stand behind the last that a `read_committed` reader gets."""
    from kafka import TopicPartition

    cluster = Cluster.of(target)
    with told(target), closing(cluster.consumer(COMMITTED)) as reader:
        numbers = reader.partitions_for_topic(target.name) or ()
        ends = reader.end_offsets([TopicPartition(target.name, one) for one in numbers])
    places = {one.partition: end for one, end in ends.items()}
    with told(target), closing(cluster.consumer(ALL)) as reader:
        return sum(1 for _ in news(reader, target.name, places, READ_AT_MOST_S))
