"""What a task's rows are to the client that sends them."""

import datetime as dt

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
    """A client that notes what it is told, and may have no room now and then."""

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


def test_value_and_key_are_sent_with_who_wrote_them(part):
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


@pytest.mark.parametrize(("left", "failed", "said"), [(3, [], "3 records"), (0, ["no"], "no")])
def test_records_that_are_not_at_the_brokers_are_no_pre_commit(part, left, failed, said):
    part._producer.left = left
    part._failed += failed
    with pytest.raises(StackError, match=f"out did not take all records: {said}"):
        part.pre_commit()
