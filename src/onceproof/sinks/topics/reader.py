"""A topic as its readers see it: committed records only, in order, each look from where it ended.

Records become rows as `topic_rows` says: each column is the member of that name of the value, which
is a JSON object; one that it lacks is NULL, or the record's key if it is the only key column. So a
job of anybody's can be read whose output is a topic: `read`, `TopicReader` and `topic_open.open_in`
take a `Target` with the brokers as `address` and the topic as `name`, and need nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Look, Target
from onceproof.sinks.files.reader import shown, write_rows
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.news import COMMITTED, TopicNews, news
from onceproof.sinks.topics.rows import rows_of

LOOK_AT_MOST_S = 20.0
READ_AT_MOST_S = 120.0


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
