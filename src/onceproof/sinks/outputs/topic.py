"""A Kafka topic that a user's job writes to.

Records become rows as in `sinks.topics.rows`: columns are members of the value's JSON object, or
the record's own `key` and `value`. With an `encoding`, members are fields of the decoded value. By
default the topic belongs to the run and is created for it; a topic named by `topic` must be empty.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.kafka import encodings
from onceproof.schema.kinds import NONEMPTY, Field, whole
from onceproof.schema.values import Item
from onceproof.sinks import Target
from onceproof.sinks.outputs import Located, Place, is_own, output
from onceproof.sinks.outputs.all_columns import table_of, write_table
from onceproof.sinks.topics.cluster import Cluster, make_target
from onceproof.sinks.topics.cluster import drop as drop_topic
from onceproof.sinks.topics.coordinator import open_in
from onceproof.sinks.topics.reader import ALL, TopicReader, committed, news, read
from onceproof.sinks.topics.rows import members_of

NAMED_BY = "topic"
_ANSWERS_WITHIN_S = 60.0


class _Encoding(Located):
    """An encoding, whose schema is a file of the user's."""

    def read(self, item: Item) -> Any:
        """Return the encoding with the file's name as it is."""
        return encodings.KIND.read(item)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of an encoding."""
        return encodings.KIND.schema()


def prepare(target: Target) -> None:
    """Create the run's own topic; raises if a topic of the user's has records."""
    if is_own(target, NAMED_BY):
        Cluster.of(target).ask(lambda client: make_target(client, target))
        return
    consumer = Cluster.of(target).consumer(ALL)
    try:
        if any(True for _ in news(consumer, target.name, {}, _ANSWERS_WITHIN_S)):
            raise RequestError(
                f"topic {target.name} has records before the job starts; leave `topic` out and let"
                " the job write to {target}"
            )
    finally:
        consumer.close()


def read_all(target: Target, folder: Path) -> None:
    """Write all committed records as parquet, with all members of their values."""
    with committed(target) as records:
        rows = members_of(target, records)
    write_table(table_of(rows, target.columns), folder)


def drop(target: Target) -> None:
    """Remove the topic if it is the run's own."""
    if is_own(target, NAMED_BY):
        drop_topic(Cluster.of(target), target.name)


Topic = output(
    "topic",
    Place(
        store="kafka",
        named_by=NAMED_BY,
        example="NAME",
        options={
            NAMED_BY: Field(NONEMPTY, "the topic; left out: one of the run's own", None),
            "partitions": Field(whole(1), "number of partitions of a topic of the run's own", None),
            encodings.NAME: Field(
                _Encoding(encodings.in_folder), "the encoding of the values; default: JSON", None
            ),
        },
        location=lambda target: target.name,
        prepare=prepare,
        reader=TopicReader,
        read=read,
        drop=drop,
        open=open_in,
        read_all=read_all,
    ),
)
