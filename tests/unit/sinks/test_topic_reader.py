"""Records of a topic as rows, each returned once."""

import datetime as dt
import json
import re
from collections import namedtuple
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.kafka.encodings import Avro
from onceproof.sinks import Target
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.reader import TopicReader, read
from onceproof.sinks.topics.rows import HEADERS, are_records, rows_of

MESSAGES = {
    "not a row": "record 5 of out, partition 2, is not a row of id, app",
    "key": "record 0 of out, partition 0, is not a row of id, app",
    "value": "column id has 10.990, which is not a valid bigint; write a whole number",
    "brokers": "out cannot be read: no broker answers",
}
COLUMNS = {"id": "bigint", "app": "string", "share": "double", "at": "timestamp", "ok": "boolean"}
Record = namedtuple("Record", "partition offset key value headers timestamp")
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 500_000, tzinfo=dt.UTC)
SIGNED = [("_batch", b"3"), ("_attempt", b"1")]
TARGET = Target("127.0.0.1:1", "out", COLUMNS, ("id",))


def record(value, key=None, headers=SIGNED, offset=0, partition=0):
    return Record(partition, offset, key, value, headers, 1_700_000_000_123)


def row(value, target=TARGET, **more):
    (found,) = rows_of(target, [record(value, **more)])
    return found.to_pylist()[0]


AVRO = {
    "type": "record",
    "name": "view",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "app", "type": ["null", "string"]},
        {"name": "share", "type": "double"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "ok", "type": "boolean"},
    ],
}


@pytest.mark.parametrize("schema_id", [None, 7])
def test_values_in_avro_are_decoded(tmp_path, schema_id):
    path = tmp_path / "view.avsc"
    path.write_text(json.dumps(AVRO))
    target = replace(TARGET, options={"encoding": {"avro": str(path), "schema_id": schema_id}})
    event = {"id": 5, "app": None, "share": 0.5, "at": MOMENT, "ok": True}
    data = Avro(AVRO, schema_id).encode(event)
    assert row(data, target) == {**event, "_batch": 3, "_attempt": 1}
    for wrong in (data[:-1], data + b"x", b'{"id":5}'):
        with pytest.raises(StackError, match=re.escape(MESSAGES["not a row"])):
            row(wrong, target, offset=5, partition=2)


class Topic:
    """A consumer's view of a topic: records by partition, None for transaction markers, the end."""

    def __init__(self, **partitions):
        self.records = {int(name[1:]): found for name, found in partitions.items()}
        self.ends = {number: len(found) for number, found in self.records.items()}
        self.places, self.fails, self.closed = {}, 0, 0

    def partitions_for_topic(self, topic):
        return set(self.records)

    def end_offsets(self, parts):
        return {one: self.ends[one.partition] for one in parts}

    def beginning_offsets(self, parts):
        return dict.fromkeys(parts, 0)

    def assign(self, parts):
        self.assigned = parts

    def seek(self, part, offset):
        self.places[part] = offset

    def position(self, part):
        return self.places[part]

    def poll(self, timeout_ms):
        if self.fails:
            raise StackError("no broker answers")
        found = {}
        for part in self.assigned:
            begin = self.places[part]
            records = self.records[part.partition][begin : begin + 2]
            self.places[part] = begin + len(records)
            if present := [one for one in records if one is not None]:
                found[part] = present
        return found

    def close(self):
        self.closed += 1


@pytest.fixture
def topic(monkeypatch):
    made = Topic(
        p0=[record(b'{"id": 1}', offset=0), None, record(b'{"id": 2}', offset=2), None], p1=[None]
    )
    monkeypatch.setattr(Cluster, "consumer", lambda self, isolation: made)
    return made


def ids(look):
    return [one["key"] for one in look.rows.to_pylist()]


def test_members_become_columns_and_headers_batch_and_attempt():
    found = row(b'{"id": 7, "app": "a", "share": 0.5, "at": "2024-02-29T23:59:59.5Z", "ok": true}')
    assert list(found.values()) == [7, "a", 0.5, MOMENT, True, 3, 1]


def test_missing_members_and_missing_headers_are_null():
    found = row(b'{"id": 7, "more": 1}', headers=[])
    assert list(found.values()) == [7, None, None, None, None, None, None]


def test_the_only_key_column_may_be_the_records_key():
    assert row(b'{"app": "a"}', key=b"7")["id"] == 7


def test_nan_and_infinity_are_read_as_spark_writes_them():
    assert str(row(b'{"share": "NaN"}')["share"]) == "nan"
    assert row(b'{"share": "-Infinity"}')["share"] == float("-inf")


@pytest.mark.parametrize("value", [b"[1]", b"not json", b'{"id": "many"}', b'{"at": 17}'])
def test_a_record_that_is_not_a_row_is_reported_with_its_place(value):
    with pytest.raises(StackError, match=re.escape(MESSAGES["not a row"])):
        row(value, offset=5, partition=2)


@pytest.mark.parametrize(
    "member",
    [
        '"id": 2.5',
        '"id": 10.0',
        '"id": 1e3',
        '"id": true',
        '"id": "7"',
        '"id": [7]',
        '"id": 9223372036854775808',
        '"app": ["a"], "id": -9223372036854775809',
        '"small": 2147483648',
        '"share": true',
        '"share": "0.5"',
        '"share": 9007199254740993',
        '"ok": 1',
        '"ok": "true"',
        '"at": "2024-01-01T00:00:00.1234567Z"',
        '"raw": "YQ=*="',
        '"id": 1, "id": 2',
    ],
)
def test_a_value_that_its_column_would_change_is_reported_with_its_place(member):
    target = replace(TARGET, columns=COLUMNS | {"small": "int", "raw": "binary"})
    with pytest.raises(StackError, match=re.escape(MESSAGES["not a row"])):
        row(f"{{{member}}}".encode(), target, offset=5, partition=2)


def test_an_error_has_the_column_the_value_and_the_remedy():
    with pytest.raises(StackError, match=re.escape(MESSAGES["value"])):
        row(b'{"id": 10.990}')


@pytest.mark.parametrize(
    ("member", "found"),
    [
        ('"id": -9223372036854775808', -(2**63)),
        ('"share": 4', 4.0),
        ('"share": 1152921504606846976', 2.0**60),
        ('"share": 123456789012345680000', 123456789012345680000.0),
        ('"app": 7', "7"),
        ('"app": 0.10000000000000000001', "0.10000000000000000001"),
        ('"app": true', "true"),
        ('"app": {"é": [1.50, null, "x"]}', '{"é": [1.50, null, "x"]}'),
        ('"at": "2024-02-29T23:59:59.500000000+01:00"', MOMENT - dt.timedelta(hours=1)),
    ],
)
def test_a_value_that_fits_its_column_is_read_as_it_is(member, found):
    assert found in row(f"{{{member}}}".encode()).values()


@pytest.mark.parametrize("key", [b"7.0", b" 7", b"1_0", b"seven", b"9223372036854775808"])
def test_a_key_that_is_not_a_whole_number_is_rejected(key):
    with pytest.raises(StackError, match=re.escape(MESSAGES["key"])):
        row(b'{"app": "a"}', key=key)


def test_records_as_they_are():
    columns = {"key": "string", "value": "binary", "headers": HEADERS, "partition": "int"}
    target = Target("127.0.0.1:1", "out", columns, ("key",))
    assert are_records(columns)
    assert not are_records(COLUMNS | {"value": "double"})
    found = row(b"\x00", target, key=b"k", headers=[("who", b"me"), *SIGNED], partition=2)
    headers = [{"key": "who", "value": b"me"}]
    assert list(found.values()) == ["k", b"\x00", headers, 2, 3, 1]


def test_rows_are_returned_once_and_markers_never(topic):
    reader = TopicReader(TARGET)
    assert ids(reader.look()) == ["[1]", "[2]"]
    assert ids(reader.look()) == []
    topic.records[1] += [record(b'{"id": 3}', offset=1, partition=1)]
    topic.ends[1] = 2
    assert ids(reader.look()) == ["[3]"]


def test_only_records_before_the_end_are_returned(topic):
    topic.ends[0] = 2
    reader = TopicReader(TARGET)
    assert ids(reader.look()) == ["[1]"]
    topic.ends[0] = 4
    assert ids(reader.look()) == ["[2]"]


def test_after_a_failed_look_the_next_one_returns_everything(topic):
    reader = TopicReader(TARGET)
    topic.fails = 1
    with pytest.raises(StackError, match=re.escape(MESSAGES["brokers"])):
        reader.look()
    assert topic.closed == 1
    topic.fails = 0
    assert ids(reader.look()) == ["[1]", "[2]"]


def test_rows_are_written_as_parquet_with_a_digest(topic, tmp_path):
    count, digest = read(TARGET, tmp_path)
    assert parquet.read_table(tmp_path).column("id").to_pylist() == [1, 2]
    topic.records[0].reverse()
    topic.records[0] = [one and one._replace(offset=at) for at, one in enumerate(topic.records[0])]
    assert (count, digest) == read(TARGET, tmp_path)


def test_a_look_has_the_columns_of_every_look(topic):
    (first, *_) = TopicReader(TARGET).look().rows.to_pylist()
    assert first == {
        "copies": 1,
        "key": "[1]",
        "value": "[null, null, null, null]",
        "version": None,
        "position": None,
        "batch": 3,
        "attempt": 1,
    }
    assert TopicReader(TARGET).look().rows.schema.field("copies").type == pa.int64()


@pytest.mark.parametrize("address", ["", "localhost", "a:1,b"])
def test_an_address_that_is_not_kafkas_is_rejected(address):
    with pytest.raises(RequestError, match=f"{address!r}.*host:port,host:port"):
        Cluster.of(Target(address, "out", COLUMNS, ("id",)))


def test_connection_settings_have_each_clients_own_names():
    options = {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.username": "me"}
    options |= {"kafka.linger.ms": 5, "kafka.ssl.endpoint.identification.algorithm": "none"}
    cluster = Cluster.of(Target("a:1, b:2", "out", COLUMNS, ("id",), options=options))
    assert cluster.addresses == ("a:1", "b:2")
    assert cluster.settings["linger.ms"] == "5"
    assert cluster.for_kafka_python() == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_SSL",
        "sasl_plain_username": "me",
        "ssl_check_hostname": False,
    }
