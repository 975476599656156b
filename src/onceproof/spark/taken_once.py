"""The data source `format("onceproof_taken_once")`, which cannot be replayed.

Its offsets have Kafka's format. Its tasks take the records of their range from
`onceproof.kafka.forgetting`; a task that runs again gets no records. So the records that a failed
batch had read are lost with any sink.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onceproof.kafka.forgetting import ask

NAME = "onceproof_taken_once"


def register(session: Any) -> None:
    """Register the format with a session; idempotent."""
    session.dataSource.register(source())


def next_ends(before: Mapping[str, int], there: Mapping[str, int], most: int) -> dict[str, int]:
    """Return the end offsets of the next batch: at most `most` records, evenly over partitions."""
    share = max(1, most // max(1, len(before)))
    return {one: min(at + share, max(at, there.get(one, 0))) for one, at in before.items()}


def source() -> type:
    """Return the data source's class, which Spark pickles by value."""
    from pyspark.sql.datasource import DataSource

    kind = reader()

    class TakenOnce(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return NAME

        def schema(self) -> str:
            return "value string"

        def streamReader(self, schema: Any) -> Any:  # noqa: ARG002
            return kind(self.options["address"], self.options["topic"], int(self.options["most"]))

    return TakenOnce


def reader() -> type:  # noqa: C901 - small methods, of classes too heavy to import above
    """Return the class of its readers, used by the driver and by each task."""
    from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import ReadMaxRows

    class Range(InputPartition):  # type: ignore[misc]
        def __init__(self, partition: str, begin: int, end: int) -> None:
            super().__init__(None)
            self.asked = {"partition": int(partition), "begin": begin, "end": end}

    class Reader(DataSourceStreamReader):  # type: ignore[misc]
        def __init__(self, address: str, topic: str, most: int) -> None:
            self.address, self.topic, self.most = address, topic, most

        def initialOffset(self) -> dict[str, Any]:
            return {self.topic: dict.fromkeys(ask(self.address), 0)}

        def getDefaultReadLimit(self) -> Any:
            return ReadMaxRows(self.most)

        def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002
            return {self.topic: next_ends(start[self.topic], ask(self.address), self.most)}

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Range]:
            begins, ends = start[self.topic], end[self.topic]
            return [Range(one, begins[one], ends[one]) for one in ends if ends[one] > begins[one]]

        def read(self, part: Range) -> Iterator[tuple[str]]:
            for value in ask(self.address, **part.asked):
                yield (value,)

    return Reader
