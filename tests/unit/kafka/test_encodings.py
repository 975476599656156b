"""Values in Avro: what fits is read back unchanged, and nothing else is taken for a value."""

import json
import re

import pytest

from onceproof.errors import RequestError
from onceproof.kafka import encodings
from onceproof.kafka.encodings import Avro

SCHEMA = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "count", "type": "int"},
        {"name": "amount", "type": ["null", "double"]},
        {"name": "state", "type": {"type": "enum", "name": "state", "symbols": ["new", "paid"]}},
        {"name": "paid", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {
            "name": "where",
            "type": {
                "type": "record",
                "name": "place",
                "fields": [{"name": "city", "type": {"type": "string"}}],
            },
        },
        {"name": "note", "type": "string", "default": "none"},
    ],
}
ORDER = {
    "id": 2**63 - 1,
    "count": -(2**31),
    "amount": None,
    "state": "paid",
    "paid": True,
    "at": 1_700_000_000_123,
    "where": {"city": "Köln \x00 😀"},
}
MESSAGES = {
    "id": "value.id is 9223372036854775808, which Avro's long does not hold exactly",
    "count": "value.count is 2147483648, which Avro's int does not hold exactly",
    "amount": "value.amount is 9007199254740993, which fits none of null, double",
    "state": "value.state is 'sent', not one of new, paid",
    "paid": "value.paid is 1, which Avro's boolean does not hold exactly",
    "at": "value.at is '2024', which Avro's long does not hold exactly",
    "city": "value.where.city is None, which Avro's string does not hold exactly",
    "more": "value.more is not in the schema",
    "less": "value.id is not in the value",
    "where": "value.where is 'here', which Avro's record does not hold exactly",
    "no file": "cannot be read: ",
    "no JSON": "cannot be read: ",
    "no record": 'is not a record; write {"type": "record", "fields": [...]}',
    "bad": "invalid Avro schema order: ",
    "prefix": "it does not begin with byte 0 and schema id 7",
    "short": "it is not Avro of the schema: EOFError",
    "long": "it has 1 bytes after its Avro value",
}
WIRES = pytest.mark.parametrize("schema_id", [None, 7])


def changed(**cells):
    return {**ORDER, **cells}


@WIRES
def test_a_value_is_read_back_unchanged(schema_id):
    avro = Avro(SCHEMA, schema_id)
    assert avro.misfit(ORDER) == ""
    found = avro.decode(avro.encode(ORDER))
    at = found.pop("at")
    assert round(at.timestamp() * 1000) == ORDER["at"]
    assert found | {"at": ORDER["at"]} == {**ORDER, "note": "none"}


def test_a_schema_id_makes_the_wire_format_of_confluent():
    plain, wired = (Avro(SCHEMA, one).encode(ORDER) for one in (None, 0x01020304))
    assert wired == b"\x00\x01\x02\x03\x04" + plain


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (changed(id=2**63), "id"),
        (changed(count=2**31), "count"),
        (changed(amount=2**53 + 1), "amount"),
        (changed(state="sent"), "state"),
        (changed(paid=1), "paid"),
        (changed(at="2024"), "at"),
        (changed(where={"city": None}), "city"),
        (changed(where="here"), "where"),
        (changed(more=1), "more"),
        ({name: one for name, one in ORDER.items() if name != "id"}, "less"),
    ],
)
def test_a_value_that_the_schema_does_not_hold_is_named(value, message):
    assert Avro(SCHEMA, None).misfit(value) == MESSAGES[message]


@pytest.mark.parametrize("kind", ["float", "bytes", {"type": "array", "items": "long"}, "place"])
def test_a_type_that_would_change_a_value_holds_none(kind):
    schema = {"type": "record", "name": "a", "fields": [{"name": "a", "type": kind}]}
    assert Avro(schema, None).misfit({"a": 0.1}) != ""


@WIRES
def test_bytes_that_are_not_one_value_are_refused(schema_id):
    avro = Avro(SCHEMA, schema_id)
    data = avro.encode(ORDER)
    for length in range(len(data)):
        with pytest.raises(ValueError):  # noqa: PT011  the next test has the messages
            avro.decode(data[:length])


@pytest.mark.parametrize(
    ("schema_id", "change", "message"),
    [
        (None, lambda data: data[:-1], "short"),
        (None, lambda data: data + b"x", "long"),
        (7, lambda data: b"\x01" + data[1:], "prefix"),
        (7, lambda data: data[:4] + b"\x08" + data[5:], "prefix"),
        (7, lambda data: data[5:], "prefix"),
    ],
)
def test_the_reason_is_named(schema_id, change, message):
    avro = Avro(SCHEMA, schema_id)
    with pytest.raises(ValueError, match=re.escape(MESSAGES[message])):
        avro.decode(change(avro.encode(ORDER)))


@pytest.mark.parametrize(
    ("text", "message"), [(None, "no file"), ("{", "no JSON"), ('"long"', "no record")]
)
def test_a_file_without_a_schema_is_refused(tmp_path, text, message):
    path = tmp_path / "order.avsc"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RequestError, match=re.escape(MESSAGES[message])) as refused:
        Avro.of({"avro": str(path)})
    assert str(path) in str(refused.value)


def test_an_invalid_schema_is_refused_before_the_first_value(tmp_path):
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps({**SCHEMA, "fields": [{"name": "id", "type": "longer"}]}))
    with pytest.raises(RequestError, match=re.escape(MESSAGES["bad"])):
        Avro.of({"avro": str(path)}).encode({"id": 1})


def test_a_schema_is_found_in_the_folder_of_the_scenario(tmp_path):
    found = encodings.in_folder({"avro": "order.avsc", "schema_id": 7}, str(tmp_path))
    assert found == {"avro": f"{tmp_path}/order.avsc", "schema_id": 7}
