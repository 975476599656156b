"""The ledger compared with a fake topic: aborted, expired and foreign records."""

import re

import pyarrow as pa
import pytest

from onceproof.errors import EvidenceError
from onceproof.kafka.topics import TopicRecord
from onceproof.producing import settling
from onceproof.producing.rows import write_rows
from onceproof.runs.ledger import Ledger

MESSAGES = {
    "foreign": "another producer wrote to it, or a record was sent twice",
    "expired": "the first records of events have expired",
}


@pytest.fixture
def topic(monkeypatch):
    """A topic of one partition: its start, its end, and the committed offsets."""
    held = {"start": 0, "end": 3, "committed": [0, 1, 2]}

    def look(_, names):
        return {name: {"id": "A", "partitions": {"0": dict(held)}} for name in names}

    def read_back(_, name, partitions, isolation="read_uncommitted"):
        assert (name, list(partitions)) == ("events", [0])
        read = held["committed"] if isolation == "read_committed" else range(held["end"])
        return [TopicRecord(0, offset, b"k", b"%d" % offset) for offset in read]

    monkeypatch.setattr(settling, "look", look)
    monkeypatch.setattr(settling, "read_back", read_back)
    return held


def settle(folder, offsets, acks="ok"):
    rows = [
        {"id": number, "topic": "events", "partition": 0, "offset": offset, "payload": str(number)}
        | {"kind": "event", "ack": "unknown" if offset is None else acks}
        for number, offset in enumerate(offsets)
    ]
    schema = pa.schema([(name, pa.int64()) for name in ("id", "offset")])
    for name in ("topic", "kind", "payload", "ack"):
        schema = schema.append(pa.field(name, pa.string()))
    schema = schema.append(pa.field("partition", pa.int32()))
    write_rows(pa.Table.from_pylist(rows, schema), folder / "part-000.parquet")
    return settling.settle(folder, ["broker:9092"], "events")


def test_a_topic_that_is_the_ledger_is_not_read(topic, tmp_path):
    topic["committed"] = None
    assert settle(tmp_path, [0, 1, 2]) == {"0": 3}


def test_aborted_records_are_not_foreign_records(topic, tmp_path):
    topic.update(end=9, committed=[0, 1, 8])
    assert settle(tmp_path, [0, 1, 8]) == {"0": 9}


def test_the_ledger_keeps_expired_records(topic, tmp_path):
    topic.update(start=2, committed=[2])
    assert settle(tmp_path, [0, 1, 2]) == {"0": 3}
    assert Ledger.read(tmp_path).acknowledged == 3


@pytest.mark.parametrize(
    ("held", "offsets"),
    [
        ({"end": 4, "committed": [0, 1, 2, 3]}, [0, 1, 2]),
        ({"start": 1, "end": 3, "committed": [1]}, [0, 1, 2]),
        ({"end": 0, "committed": []}, [0, 1, 2]),
        ({"start": 2, "end": 4, "committed": [2, 3]}, [0, 1, 2]),
    ],
)
def test_a_topic_with_more_or_fewer_records_than_the_ledger_is_rejected(
    topic, tmp_path, held, offsets
):
    topic.update(held)
    with pytest.raises(EvidenceError, match=re.escape(MESSAGES["foreign"])):
        settle(tmp_path, offsets)


def test_an_unknown_send_cannot_be_settled_after_records_have_expired(topic, tmp_path):
    topic.update(start=2, committed=[2])
    for _ in range(2):
        with pytest.raises(EvidenceError, match=re.escape(MESSAGES["expired"])):
            settle(tmp_path, [None, 1, 2])
