"""Records as a job of somebody else parses them: whence they come stands in headers alone."""

import json

import pyarrow as pa
import pytest

from onceproof.errors import RequestError
from onceproof.naming import located
from onceproof.producing.rows import Sends
from onceproof.producing.sending import Sending
from onceproof.workloads import as_is, find_workload, records
from tests.unit.producing.test_producing import FakeClient, ledger


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


def test_records_are_sent_to_the_byte_and_told_by_their_headers(file, tmp_path):
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
    ("line", "said"),
    [
        ("[1]", "orders.jsonl:1 is no record: its fields are key"),
        ('{"valu": 1}', "its fields are key, key_base64"),
        ('{"value_base64": "?"}', "is no record"),
        ("{", "is no record"),
        ("", "holds no record: write a JSON object a line"),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path, line, said):
    path = tmp_path / "orders.jsonl"
    path.write_text(line)
    with pytest.raises(RequestError, match=said):
        records.read(path)


def test_an_event_time_that_is_none_is_refused(file):
    with pytest.raises(RequestError, match=r"'order.at' is no time in the record 'plain'"):
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


def test_what_a_template_sends_again_is_the_same_record():
    found = events("template", value=ORDER, key="customer", events=500, redelivered=0.1).to_pandas()
    twice = found[found.kind == "redelivery"]
    assert len(twice) == 50
    by_id = found[found.kind == "event"].set_index("id")
    assert list(by_id.value[twice.id]) == list(twice.value)
    assert json.loads(found.value[0])["customer"] == found.key[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"value": {"a": "integer"}}, "field a: 'integer' is no type: write one of id, int LEAST"),
        ({"value": {"a": "int 1"}}, "field a: 'int 1' is no type"),
        ({"value": {"a": "id"}, "key": "b"}, "key 'b' is no field of value: write a"),
        ({"value": "id"}, "value: invalid value 'id'; use a mapping"),
    ],
)
def test_a_bad_template_is_refused(given, said):
    with pytest.raises(RequestError, match=said):
        events("template", **given)


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
    with pytest.raises(RequestError, match="yields 3 records, and events is 4: write fewer"):
        events(name, events=4)
    with pytest.raises(RequestError, match="is no record: write \\(key, value\\)"):
        as_is.Record.of((1, 2), "it")
