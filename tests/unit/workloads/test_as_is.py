"""Records in the format of a user's own job, identified only by headers."""

import json
import re

import pyarrow as pa
import pytest

from onceproof.errors import RequestError
from onceproof.kafka.encodings import Avro
from onceproof.naming import located
from onceproof.producing.rows import Sends
from onceproof.producing.sending import Sending
from onceproof.workloads import as_is, find_workload, records
from onceproof.workloads.awkward import DECIMALS, NAMES
from tests.unit.producing.test_producing import FakeClient, ledger

MESSAGES = {
    "not an object": "orders.jsonl:1 is not a record: its fields must be among key",
    "unknown field": "orders.jsonl:1 is not a record: its fields must be among key, key_base64",
    "base64": "orders.jsonl:1 is not a record: ",
    "empty": "orders.jsonl has no records; write one JSON object per line",
    "event time": "event_time 'order.at' is not a time in record 'plain'",
    "type": "field a: invalid type 'integer'; use one of id, int LEAST MOST",
    "bounds": "field a: invalid type 'int 1'; use one of id",
    "key": "unknown key 'b'; choose one of a",
    "value": "value: invalid value 'id'",
    "too few": "orders yields 3 records, but events is 4; write fewer events",
    "not in the schema": "encoding: value.at is not in the schema; change the schema, or the",
    "not held": "which Avro's int does not hold exactly; change the schema, or the fields",
    "sentinel's fields": "encoding: value.amount is not in the value; change the schema, or",
    "sentinel": "sentinel: invalid value 'end'; use a JSON object, which is sent in the encoding",
    "no schema": "none.avsc cannot be read: ",
    "no file": "encoding: invalid value 'avro'",
    "no record": "it is not a record; yield (key, value)",
}


def events(name, seed=7, **given):
    workload = find_workload(name)
    options = workload.pinned(workload.resolve({"client": "kafka-python", **given}), ".")
    return pa.concat_tables(workload.events(options, seed, 0))


def sent(table, tmp_path):
    client = FakeClient()
    Sending(client, tmp_path / "part", 5, lambda *_: None).run([Sends(table, "a_run", "t", 4)])
    return client.sent


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "orders.jsonl"
    path.write_text(
        '{"key": "a", "value": {"order": {"at": "2026-01-01T00:00:00Z"}}, "headers": {"h": "x"}}\n'
        '{"value": "plain"}\n\n{"key_base64": "/w==", "value_base64": "AAEC"}\n{"key": "d"}\n'
    )
    return path


def test_records_are_sent_byte_by_byte_and_identified_by_headers(file, tmp_path):
    found = sent(events("records", file=str(file)), tmp_path)
    assert [(key, value) for _, key, value, _ in found] == [
        (b"a", b'{"order": {"at": "2026-01-01T00:00:00Z"}}'),
        (None, b"plain"),
        (b"\xff", b"\x00\x01\x02"),
        (b"d", None),
    ]
    ours = [("onceproof.id", b"0"), ("onceproof.run", b"a_run")]
    assert found[0][3] == [("h", b"x"), *ours]
    assert ledger(tmp_path).payload[2] == b"\x00\x01\x02"


def test_a_file_is_repeated_to_a_size(file):
    values = events("records", file=str(file), events=9)["value"].to_pylist()
    assert values[:4] == values[4:8]
    assert len(values) == 9


def test_a_file_has_as_many_events_as_lines(file):
    assert events("records", file=str(file)).num_rows == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "not an object"),
        ('{"valu": 1}', "unknown field"),
        ('{"value_base64": "?"}', "base64"),
        ("{", "base64"),
        ("", "empty"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(tmp_path, line, message):
    path = tmp_path / "orders.jsonl"
    path.write_text(line)
    with pytest.raises(RequestError, match=re.escape(MESSAGES[message])):
        records.read(path)


def test_an_invalid_event_time_is_rejected(file):
    with pytest.raises(RequestError, match=re.escape(MESSAGES["event time"])):
        events("records", file=str(file), event_time="order.at")


@pytest.mark.parametrize(
    ("value", "path", "milliseconds"),
    [
        ('{"at": 1700000000}', "at", 1_700_000_000_000),
        ('{"at": 1700000000123}', "at", 1_700_000_000_123),
        ('{"o": {"at": "2023-11-14T22:13:20.5Z"}}', "o.at", 1_700_000_000_500),
        ('{"at": "2023-11-14T22:13:20"}', "at", 1_700_000_000_000),
    ],
)
def test_an_event_time_is_read_in_seconds_milliseconds_and_text(value, path, milliseconds):
    assert as_is.time_of(value.encode(), path) == milliseconds


ORDER = {
    "order_id": "id",
    "customer": "text c 5",
    "amount": "decimal 1 9.99",
    "paid": "boolean",
    "at": "timestamp",
    "where": {"country": "choice DE FR", "note": "constant by hand"},
}


def test_a_template_has_typed_fields_drawn_from_the_seed():
    values = [
        json.loads(one) for one in events("template", value=ORDER, events=50)["value"].to_pylist()
    ]
    assert [one["order_id"] for one in values] == list(range(50))
    assert {one["customer"] for one in values} <= {f"c-{nth}" for nth in range(5)}
    assert all(1 <= one["amount"] <= 9.99 for one in values)
    assert {one["paid"] for one in values} == {True, False}
    assert values[0]["at"].startswith("2023-11-14T22:13:")
    assert {one["where"]["country"] for one in values} == {"DE", "FR"}
    assert values[0]["where"]["note"] == "by hand"


def test_a_redelivery_of_a_template_is_the_same_record():
    found = events("template", value=ORDER, key="customer", events=500, redelivered=0.1).to_pandas()
    twice = found[found.kind == "redelivery"]
    assert len(twice) == 50
    by_id = found[found.kind == "event"].set_index("id")
    assert list(by_id.value[twice.id]) == list(twice.value)
    assert json.loads(found.value[0])["customer"] == found.key[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": {"a": "integer"}}, "type"),
        ({"value": {"a": "int 1"}}, "bounds"),
        ({"value": {"a": "id"}, "key": "b"}, "key"),
        ({"value": "id"}, "value"),
    ],
)
def test_an_invalid_template_is_rejected(given, message):
    with pytest.raises(RequestError, match=re.escape(MESSAGES[message])):
        events("template", **given)


AVRO = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "order_id", "type": "long"},
        {"name": "customer", "type": ["null", "string"]},
        {"name": "amount", "type": "double"},
        {"name": "count", "type": "int"},
    ],
}
IN_AVRO = {name: kind for name, kind in ORDER.items() if name in ("order_id", "customer", "amount")}
IN_AVRO |= {"count": "int 1 9"}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(AVRO))
    return str(path)


@pytest.mark.parametrize("schema_id", [{}, {"schema_id": 7}])
def test_a_template_in_avro_has_the_same_events_as_in_json(schema, tmp_path, schema_id):
    encoding = {"avro": schema, **schema_id}
    given = {"value": IN_AVRO, "events": 500, "redelivered": 0.1}
    given["sentinel"] = '{"order_id": 9, "customer": "c", "amount": 1.5, "count": 3}'
    plain, coded = events("template", **given), events("template", **given, encoding=encoding)
    assert coded["payload"] == plain["value"]
    avro = Avro.of(encoding)
    values = [avro.decode(one) for one in coded["value"].to_pylist()]
    assert values == list(map(json.loads, plain["value"].to_pylist()))
    records = sent(coded, tmp_path)
    assert [one[2] for one in records] == coded["value"].to_pylist()
    assert ledger(tmp_path).payload.tolist() == plain["value"].to_pylist()
    workload = find_workload("template")
    last = workload.sentinel(workload.resolve({**given, "encoding": encoding}), 5)
    assert last["payload"].to_pylist() == [given["sentinel"].encode()]
    assert avro.decode(last["value"][0].as_py()) == json.loads(given["sentinel"])
    assert last.schema.equals(coded.schema)


@pytest.mark.parametrize("schema_id", [{}, {"schema_id": 7}])
def test_awkward_values_in_avro_are_those_that_the_schema_holds(schema, schema_id):
    encoding = {"avro": schema, **schema_id}
    found = events("template", value=IN_AVRO, events=6000, awkward=0.3, encoding=encoding)
    avro, seen = Avro.of(encoding), {}
    for row in found.to_pylist():
        if row["awkward"] == "unparsable":
            with pytest.raises(ValueError, match="it"):
                avro.decode(row["value"])
        elif row["awkward"] == "tombstone":
            assert row["value"] is row["payload"] is None
        else:
            value = avro.decode(row["value"])
            assert value == json.loads(row["payload"])
            seen.setdefault(row["awkward"], []).append(value)
    assert seen.keys() == {None, *NAMES} - {"tombstone", "unparsable", "null_key"}
    assert {one["customer"] for one in seen["null"]} == {None}
    counts = {one["count"] for one in seen["number"]}
    assert counts == {*range(10), -1, 2**31 - 1, -(2**31)}
    assert {one["amount"] for one in seen["number"]} > {*DECIMALS}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": {**IN_AVRO, "at": "timestamp"}}, "not in the schema"),
        ({"value": {**IN_AVRO, "count": "text a 5"}}, "not held"),
        ({"value": IN_AVRO, "sentinel": '{"order_id": 0}'}, "sentinel's fields"),
        ({"value": IN_AVRO, "sentinel": "end"}, "sentinel"),
        ({"value": IN_AVRO, "encoding": {"avro": "none.avsc"}}, "no schema"),
        ({"value": IN_AVRO, "encoding": "avro"}, "no file"),
    ],
)
def test_an_encoding_that_does_not_hold_the_fields_is_rejected(schema, given, message):
    with pytest.raises(RequestError, match=re.escape(MESSAGES[message])):
        events("template", **{"encoding": {"avro": schema}, **given})


def test_a_function_of_the_seed_yields_records(tmp_path):
    module = tmp_path / "orders.py"
    module.write_text(
        "def orders(seed):\n"
        "    yield f'{seed}'\n"
        "    yield 'k', b'v'\n"
        "    yield None, 'v', {'h': b'x'}\n"
    )
    name = located("orders.py:orders", str(tmp_path))
    found = events(name, events=3)
    assert found["value"].to_pylist() == [b"7", b"v", b"v"]
    assert found["record_key"].to_pylist() == [None, b"k", None]
    assert found["headers"].to_pylist()[2] == [{"name": "h", "value": b"x"}]
    with pytest.raises(RequestError, match=re.escape(MESSAGES["too few"])):
        events(name, events=4)
    with pytest.raises(RequestError, match=re.escape(MESSAGES["no record"])):
        as_is.Record.of((1, 2), "it")
