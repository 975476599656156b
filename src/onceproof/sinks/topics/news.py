"""What has come into a topic since somebody looked last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from onceproof.errors import StackError
from onceproof.machine.polling import wait_for
from onceproof.sinks.topics.cluster import Cluster

COMMITTED, ALL = "read_committed", "read_uncommitted"


@dataclass
class TopicNews:
    """A consumer that lasts from look to look; after an error the next look makes a new one."""

    cluster: Cluster
    topic: str
    isolation: str
    limit_s: float
    _consumer: Any = None

    def since(self, places: Mapping[int, int]) -> tuple[list[Any], dict[int, int]]:
        """Return the records behind the places up to the ends as they are now, and the ends."""
        ends = dict(places)
        try:
            if self._consumer is None:
                self._consumer = self.cluster.consumer(self.isolation)
            return list(news(self._consumer, self.topic, ends, self.limit_s)), ends
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the consumer back."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(Exception):  # it may be one whose brokers are gone
                consumer.close()


def news(consumer: Any, topic: str, places: dict[int, int], limit_s: float) -> Iterator[Any]:
    """Yield the records behind the places up to the ends as they are now, and move the places.

    A partition without a place begins where its log does. What moves is `places` itself, also
    over markers of transactions, which are records that nobody gets.
    """
    from kafka import TopicPartition

    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise StackError(f"there is no topic {topic!r}: it was never made, or somebody removed it")
    parts = [TopicPartition(topic, number) for number in sorted(numbers)]
    ends = consumer.end_offsets(parts)
    fresh = [one for one in parts if one.partition not in places]
    starts = consumer.beginning_offsets(fresh) if fresh else {}
    left = [one for one in parts if places.get(one.partition, starts.get(one)) < ends[one]]
    for one in parts:
        places.setdefault(one.partition, starts.get(one, 0))
    consumer.assign(left)
    for one in left:
        consumer.seek(one, places[one.partition])

    def moved() -> tuple[Any, ...]:
        found = tuple(consumer.poll(200).items())
        is_over = all(consumer.position(one) >= ends[one] for one in left)
        return found or ((None, ()),) * is_over  # the last may be markers

    while left and any(consumer.position(one) < ends[one] for one in left):
        for one, records in wait_for(moved, limit_s, f"{topic} has no readable end"):
            yield from (record for record in records if record.offset < ends[one])
    places.update({one.partition: ends[one] for one in left})
