"""Awkward events: exactly their share, the same for any number of producers, all ways in turn."""

import json
from collections import Counter

import pyarrow as pa
import pytest

from onceproof.producing.rows import Sends
from onceproof.producing.sending import Sending
from onceproof.runs.ledger import UNREADABLE
from onceproof.workloads import awkward, find_workload
from onceproof.workloads.typed_fields import awkward_choices
from tests.unit.producing.test_producing import FakeClient, ledger

SHARE = 0.1
VALUE = {
    "order_id": "id",
    "customer": "text c 5",
    "amount": "decimal 1 9.99",
    "count": "int 1 9",
    "paid": "boolean",
    "at": "epoch_ms",
    "where": {"country": "choice DE FR", "note": "constant by hand"},
}
NEEDED = {"page_views": {}, "template": {"value": VALUE, "key": "customer"}}
WORKLOADS = pytest.mark.parametrize("name", NEEDED)


def tables(name, seed=7, **given):
    workload = find_workload(name)
    options = {"events": 3000, "client": "kafka-python", "awkward": SHARE, **NEEDED[name], **given}
    resolved = workload.resolve({one: cell for one, cell in options.items() if cell is not None})
    producers = range(resolved["producers"])
    found = [pa.concat_tables(workload.events(resolved, seed, one)) for one in producers]
    return pa.concat_tables(found)


def ways(name, **given):
    """Return what is awkward about each event, by its id."""
    found = tables(name, **given).to_pandas()
    events = found[found.kind == "event"]
    return dict(zip(events.id, events.awkward, strict=True))


def sent(table, tmp_path):
    """Return the sends and the ledger, in the order of sending."""
    client = FakeClient()
    sends = Sends(table, "a_run", "t", 4)
    assert Sending(client, tmp_path / "part", 5, lambda *_: None).run([sends]) == ""
    return client.sent, ledger(tmp_path)


@WORKLOADS
def test_exactly_the_share_is_awkward_in_every_way_in_turn(name):
    found = Counter(way for way in ways(name).values() if way)
    assert found.total() == 300
    assert set(found) == set(awkward.NAMES) - ({awkward.NULL} if name == "page_views" else set())
    often = [count for way, count in found.items() if way != awkward.HUGE_TEXT]
    assert max(often) - min(often) <= 1
    assert 0 < found[awkward.HUGE_TEXT] < 5


@WORKLOADS
def test_the_same_events_are_awkward_for_any_number_of_producers(name):
    assert ways(name) == ways(name, producers=7)
    assert ways(name) != ways(name, seed=8)


@WORKLOADS
def test_without_the_option_nothing_changes(name):
    assert tables(name, awkward=None) == tables(name, awkward=0)
    assert "awkward" not in tables(name, awkward=None).column_names
    calm, odd = (tables(name, awkward=share).to_pylist() for share in (None, SHARE))
    same = ("id", "event_ms", "amount", "kind") + (("value",) if name == "template" else ())
    for one, other in zip(calm, odd, strict=True):
        if other["awkward"] is None:
            assert [one[cell] for cell in same] == [other[cell] for cell in same]


@WORKLOADS
def test_a_redelivery_is_as_awkward_as_its_event(name, tmp_path):
    records, rows = sent(tables(name, redelivered=0.5), tmp_path)
    by_id = {}
    for record, row in zip(records, rows.to_dict("records"), strict=True):
        cells = (record, row["awkward"])
        assert by_id.setdefault(row["id"], cells) == cells
    again = rows[rows.kind == "redelivery"].awkward.dropna()
    assert len(again) > 100


@WORKLOADS
def test_a_record_is_what_the_ledger_says(name, tmp_path):
    records, rows = sent(tables(name), tmp_path)
    seen = Counter()
    for (_, key, value, headers), row in zip(records, rows.to_dict("records"), strict=True):
        way = row["awkward"] or ""
        seen[way] += 1
        event = _event(value)
        assert (event is None) is (way in UNREADABLE) is (row["event_ms"] != row["event_ms"])
        assert (value is None) is (way == "tombstone") is (row["payload"] is None)
        nullable = name == "template" and way == awkward.NULL
        assert (key is None) is (way == awkward.NULL_KEY) or nullable
        if way:
            assert dict(headers)["onceproof.id"] == b"%d" % row["id"]
        if event is not None:
            assert event["order_id" if name == "template" else "id"] == row["id"]
    assert len(seen) == (9 if name == "page_views" else 10)


def _event(value):
    """Return the object of a value; None if it has none."""
    try:
        found = json.loads(value)
    except (ValueError, TypeError):
        return None
    return found or None


def test_views_have_texts_numbers_and_times_on_purpose(tmp_path):
    records, rows = sent(tables("page_views", events=20_000), tmp_path)
    keys = {
        way: {json.loads(records[place][2])["key"] for place in rows.index[rows.awkward == way]}
        for way in (awkward.EMPTY_TEXT, awkward.UNICODE, awkward.HUGE_TEXT)
    }
    assert keys == {"empty_text": {""}, "unicode": {*awkward.TEXTS}, "huge_text": {awkward.HUGE}}
    numbers = rows[rows.awkward == awkward.NUMBER].amount
    assert set(numbers) == {*awkward.NUMBERS}
    places = rows.index[rows.awkward == awkward.SAME_TIME]
    before = [awkward.neighbour(place, len(rows)) for place in places]
    times = tables("page_views", events=20_000)["event_ms"].to_pylist()
    assert [times[place] for place in places] == [times[place] for place in before]


def test_fields_of_a_template_are_awkward_by_their_type():
    found = tables("template", events=20_000).to_pylist()
    values = {way: [] for way in awkward_choices(VALUE, lambda made: True)}
    for row in found:
        if row["awkward"] in values:
            value = json.loads(row["value"])
            assert row["id"] == value["order_id"]
            assert row["event_ms"] == value["at"]
            values[row["awkward"]].append(value)
    texts = [(one["customer"], *one["where"].values()) for one in values[awkward.UNICODE]]
    assert {*awkward.TEXTS, awkward.NUL} <= {text for row in texts for text in row}
    assert all("" in (one["customer"], *one["where"].values()) for one in values["empty_text"])
    assert {one["count"] for one in values[awkward.NUMBER]} >= {*awkward.LONGS}
    assert {one["amount"] for one in values[awkward.NUMBER]} >= {*awkward.DECIMALS}
    nulls = [{**one, **one["where"]} for one in values[awkward.NULL]]
    names = {name for one in nulls for name in one if one[name] is None}
    assert names == {"customer", "amount", "count", "paid", "country", "note"}
    assert all(list(one.values()).count(None) == 1 for one in nulls)


def test_a_template_is_awkward_only_as_its_fields_permit(tmp_path):
    value = {"order_id": "id", "at": "timestamp"}
    found = tables("template", value=value, key=None)
    assert set(found["awkward"].to_pylist()) == {None, "same_time", *UNREADABLE}
    dead = [row for row in found.to_pylist() if row["awkward"] == "tombstone"]
    assert [row["record_key"] for row in dead] == [b"%d" % row["id"] for row in dead]


def test_no_text_has_a_lone_surrogate_and_huge_ones_are_bounded():
    for text in (*awkward.TEXTS, awkward.NUL, awkward.HUGE):
        assert text.encode().decode() == text
    assert len(awkward.HUGE.encode()) == 100_000


@pytest.mark.parametrize("draw", range(5))
def test_no_parser_takes_an_unparsable_text_for_an_event(draw):
    text = awkward.unparsable('{"id": 5, "key": "a"}', draw)
    assert _event(text) is None


def test_the_first_awkward_event_has_a_time():
    for name in NEEDED:
        found = tables(name, events=1, awkward=1)
        assert found["awkward"].to_pylist()[0] not in UNREADABLE
