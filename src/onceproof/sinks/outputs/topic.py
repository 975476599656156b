"""A topic of Kafka that a job of somebody else writes to.

Its records are rows as `sinks.topics.rows` says: columns are members of the value's JSON object, or
`key` and `value` as they are. The run's own by default, made for it; one that `topic` names must
be empty.
"""

from __future__ import annotations

from onceproof.errors import RequestError
from onceproof.schema.kinds import NONEMPTY, Field, whole
from onceproof.sinks import Target
from onceproof.sinks.outputs import Place, is_own, output
from onceproof.sinks.topics.cluster import Cluster, make_target
from onceproof.sinks.topics.cluster import drop as drop_topic
from onceproof.sinks.topics.coordinator import open_in
from onceproof.sinks.topics.reader import ALL, TopicReader, news, read

CALLED = "topic"
_ANSWERS_WITHIN_S = 60.0


def prepare(target: Target) -> None:
    """Make the topic; refuse one of the user's with records in it."""
    if is_own(target, CALLED):
        Cluster.of(target).ask(lambda client: make_target(client, target))
        return
    consumer = Cluster.of(target).consumer(ALL)
    try:
        if any(True for _ in news(consumer, target.name, {}, _ANSWERS_WITHIN_S)):
            raise RequestError(
                f"the topic {target.name} holds records before the job has begun: leave `topic` out"
                " and let the job write to {target}"
            )
    finally:
        consumer.close()


def drop(target: Target) -> None:
    """Remove what the run made."""
    if is_own(target, CALLED):
        drop_topic(Cluster.of(target), target.name)


Topic = output(
    "topic",
    Place(
        store="kafka",
        called=CALLED,
        example="NAME",
        options={
            CALLED: Field(NONEMPTY, "the topic; left out: one of the run's own", None),
            "partitions": Field(whole(1), "of a topic of the run's own", None),
        },
        shown=lambda target: target.name,
        prepare=prepare,
        reader=TopicReader,
        read=read,
        drop=drop,
        open=open_in,
    ),
)
