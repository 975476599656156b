"""The records that a task's rows become in the client that sends them."""

import datetime as dt
import re

import pyarrow as pa
import pytest

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.sinks.files.parquet_rows import signed
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.part import TopicPart
from onceproof.sinks.topics.rows import HEADERS

SIGNS = [("_batch", b"7"), ("_attempt", b"2")]


class Producer:
    """A client that keeps its records, and whose buffer may be full."""

    def __init__(self, full=0, left=0):
        self.sent, self.polls, self.full, self.left = [], [], full, left

    def produce(self, *record, **more):
        if self.full:
            self.full -= 1
            raise BufferError
        self.sent.append((*record, more))

    def poll(self, seconds):
        self.polls.append(seconds)

    def flush(self, seconds):
        return self.left


def rows(columns, **cells):
    target = Target("b:1", "out", columns, (), attempt=2)
    return signed(pa.record_batch(cells), target, 7)


@pytest.fixture
def part(monkeypatch):
    made = TopicPart(Cluster(("b:1",)), "out")
    made._producer = Producer()
    return made


def test_value_and_key_are_sent_with_batch_and_attempt(part):
    part.write(rows({"value": "string", "key": "string"}, value=["a", "b"], key=["1", None]))
    assert part._producer.sent == [
        ("out", "a", "1", {"headers": SIGNS}),
        ("out", "b", None, {"headers": SIGNS}),
    ]


def test_headers_partition_and_timestamp_go_with_their_record(part):
    columns = {"value": "binary", "headers": HEADERS, "partition": "int", "timestamp": "timestamp"}
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = pa.array([[{"key": "who", "value": b"me"}], None], kind)
    cells = {"value": [b"a", b"b"], "headers": headers, "partition": [3, None]}
    part.write(rows(columns, **cells, timestamp=[None, moment]))
    assert part._producer.sent == [
        ("out", b"a", None, {"headers": [("who", b"me"), *SIGNS], "partition": 3}),
        ("out", b"b", None, {"headers": SIGNS, "timestamp": 1_704_067_200_000}),
    ]


def test_a_client_without_room_is_waited_for(part):
    part._producer.full = 2
    part.write(rows({"value": "string"}, value=["a"]))
    assert (len(part._producer.sent), part._producer.polls) == (1, [0.1, 0.1, 0])


@pytest.mark.parametrize(
    ("left", "failed", "message"),
    [
        (3, [], "out did not store all records: 3 records are not acknowledged"),
        (0, ["no"], "out did not store all records: no"),
    ],
)
def test_a_pre_commit_fails_if_records_are_not_acknowledged(part, left, failed, message):
    part._producer.left = left
    part._failed += failed
    with pytest.raises(StackError, match=re.escape(message)):
        part.pre_commit()
