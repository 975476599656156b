"""Readers of a topic: committed records only, in order, each look from the end of the last one.

Records become rows as in `rows`: each column is the member of that name of the JSON value; a
missing member is NULL, or the record's key if it is the only key column. So the output of any job
can be read: `read`, `TopicReader` and `coordinator.open_in` only need a `Target` with the brokers
as `address` and the topic as `name`.
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
from onceproof.sinks.files.reader import look_rows, write_rows
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.rows import rows_of

LOOK_AT_MOST_S = 20.0
READ_AT_MOST_S = 120.0
COMMITTED, ALL = "read_committed", "read_uncommitted"


@dataclass
class TopicReader:
    """A reader that polls a topic; it keeps no rows in memory.

    Rows of a topic are never removed, so a look fetches the records committed since the last one.
    If records expire before a look has read them, it fails, and so does every later one.
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
        """Read up to the current ends; raises `StackError` if the brokers do not answer in time.

        After a look that raised, the next one starts from the same offsets.
        """
        import pyarrow as pa

        with as_stack_error(self.target):
            found, ends = self._news.since(self._next)
        parts = [_came(rows, self.target) for rows in rows_of(self.target, found)]
        self._next = ends
        return Look(pa.concat_tables([Look.of([]).rows, *parts]).combine_chunks())

    def close(self) -> None:
        """Close the consumer; the next look creates one and continues from the last look."""
        self._news.close()


def read(target: Target, folder: Path) -> tuple[int, str]:
    """Write all committed rows as parquet; return their number and their digest."""
    with committed(target) as found:
        return write_rows(target, rows_of(target, found), folder)


@contextmanager
def committed(target: Target) -> Iterator[Iterator[Any]]:
    """Yield the committed records; errors of reading them raise `StackError`."""
    with as_stack_error(target), closing(Cluster.of(target).consumer(COMMITTED)) as consumer:
        yield news(consumer, target.name, {}, READ_AT_MOST_S)


@contextmanager
def as_stack_error(target: Target) -> Iterator[None]:
    """Raise errors of reading a topic as `StackError`."""
    from kafka.errors import KafkaError

    try:
        yield
    except (KafkaError, OSError, StackError) as error:
        raise StackError(f"{target.name} cannot be read: {error}") from None


def _came(rows: Any, target: Target) -> Any:
    import pyarrow as pa

    came = look_rows(rows, target)
    return pa.Table.from_batches([came.add_column(0, "copies", pa.array([1] * rows.num_rows))])


@dataclass
class TopicNews:
    """A consumer kept from look to look; after an error the next look creates a new one."""

    cluster: Cluster
    topic: str
    isolation: str
    limit_s: float
    _consumer: Any = None

    def since(self, places: Mapping[int, int]) -> tuple[list[Any], dict[int, int]]:
        """Return the records from these offsets up to the current ends, and the ends."""
        ends = dict(places)
        try:
            if self._consumer is None:
                self._consumer = self.cluster.consumer(self.isolation)
            return list(news(self._consumer, self.topic, ends, self.limit_s)), ends
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the consumer."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(Exception):  # its brokers may be gone
                consumer.close()


def news(consumer: Any, topic: str, places: dict[int, int], limit_s: float) -> Iterator[Any]:
    """Yield the records from `places` up to the current ends, and update `places`.

    A partition without a place is read from its beginning. `places` itself is updated, also past
    transaction markers, which consumers never receive.
    """
    from kafka import TopicPartition

    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise StackError(f"topic {topic!r} does not exist: it was never created, or was removed")
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
        return found or ((None, ()),) * is_over  # the last records may be markers

    while left and any(consumer.position(one) < ends[one] for one in left):
        for one, records in wait_for(moved, limit_s, f"{topic} was not read to its end"):
            yield from (record for record in records if record.offset < ends[one])
    places.update({one.partition: ends[one] for one in left})
