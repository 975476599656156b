"""A topic as its readers see it: committed records only, in order, each look from where it ended.

Records become rows as `rows` says: each column is the member of that name of the value, which
is a JSON object; one that it lacks is NULL, or the record's key if it is the only key column. So a
job of anybody's can be read whose output is a topic: `read`, `TopicReader` and
`coordinator.open_in` take a `Target` with the brokers as `address` and the topic as `name`, and
need nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.errors import StackError
from onceproof.machine.polling import wait_for
from onceproof.sinks import Look, Target
from onceproof.sinks.files.reader import shown, write_rows
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.rows import rows_of

LOOK_AT_MOST_S = 20.0
READ_AT_MOST_S = 120.0
COMMITTED, ALL = "read_committed", "read_uncommitted"


@dataclass
class TopicReader:
    """Somebody who looks again and again; what was told is not held.

    Rows of a topic never go, so a look fetches what was committed since the last. A topic whose
    records expire before they are looked at fails the look, and every one after it.
    """

    target: Target
    isolation: str = COMMITTED
    _next: dict[int, int] = field(init=False, default_factory=dict)  # in each partition
    _news: TopicNews = field(init=False)

    def __post_init__(self) -> None:
        self._news = TopicNews(
            Cluster.of(self.target), self.target.name, self.isolation, LOOK_AT_MOST_S
        )

    def look(self) -> Look:
        """Look up to the ends as they are now; raises `StackError` if brokers do not tell in time.

        A look that raised has told nothing: the next one begins where this one did.
        """
        import pyarrow as pa

        with told(self.target):
            found, ends = self._news.since(self._next)
        parts = [_came(rows, self.target) for rows in rows_of(self.target, found)]
        self._next = ends
        return Look(pa.concat_tables([Look.of([]).rows, *parts]).combine_chunks())

    def close(self) -> None:
        """Close the consumer; another look makes one and goes on from the last."""
        self._news.close()


def read(target: Target, folder: Path) -> tuple[int, str]:
    """Write all committed rows as parquet; return their number and their digest."""
    with told(target), closing(Cluster.of(target).consumer(COMMITTED)) as consumer:
        found = news(consumer, target.name, {}, READ_AT_MOST_S)
        return write_rows(target, rows_of(target, found), folder)


@contextmanager
def told(target: Target) -> Iterator[None]:
    """Tell what keeps a topic from being read in one sentence."""
    from kafka.errors import KafkaError

    try:
        yield
    except (KafkaError, OSError, StackError) as error:
        raise StackError(f"{target.name} could not be looked at: {error}") from None


def _came(rows: Any, target: Target) -> Any:
    import pyarrow as pa

    came = shown(rows, target)
    return pa.Table.from_batches([came.add_column(0, "copies", pa.array([1] * rows.num_rows))])


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
