"""The contract of every registered workload."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from onceproof.workloads import WORKLOADS, find_workload

COLUMNS = {
    "id": pa.int64(),
    "producer": pa.int32(),
    "key": pa.string(),
    "seq": pa.int64(),
    "event_ms": pa.int64(),
    "amount": pa.int64(),
    "kind": pa.string(),
}
# The additional columns of records that are sent as they are, maybe without key and time.
AS_IS = {
    "record_key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())])),
}
EVENTS, PRODUCERS = 30_001, 3
NEEDED = {
    "records": {"file": str(Path(__file__).with_name("three_records.jsonl"))},
    "follows": {
        "follows": "views",
        "value": {"order_id": "views.id", "paid": "int 1 9"},
        "key": "order_id",
        "followed": '{"workload": "page_views", "options": {"events": 30001}, "seed": 1}',
    },
    "template": {"value": {"order_id": "id", "amount": "int 1 9"}, "key": "order_id"},
}

pytestmark = pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)


def tables(workload, seed=7, **given):
    needed = NEEDED.get(workload.name, {})
    options = workload.resolve({"events": EVENTS, "producers": PRODUCERS, **needed, **given})
    return [pa.concat_tables(workload.events(options, seed, one)) for one in range(PRODUCERS)]


def test_it_is_found_by_its_name_and_its_defaults_are_valid(workload):
    options = find_workload(workload.name).resolve(NEEDED.get(workload.name, {}))
    assert find_workload(workload.name).resolve(options) == options


def test_the_same_seed_gives_the_same_events_and_another_gives_others(workload):
    assert tables(workload) == tables(workload)
    if workload.name != "records":  # a file is a file
        assert tables(workload) != tables(workload, seed=8)


def test_its_columns_are_those_of_the_ledger(workload):
    for table in tables(workload):
        more = {} if workload.name == "page_views" else AS_IS
        assert {one.name: one.type for one in table.schema} == COLUMNS | more
        known = set(COLUMNS) - ({"key", "event_ms"} if more else set())
        assert sum(table[name].null_count for name in known) == 0


def test_awkward_events_are_events_too(workload):
    given = {"awkward": 0.1} if "awkward" in workload.options else {}
    found = tables(workload, **given)
    assert found == tables(workload, **given)
    names = {one.name for one in found[0].schema}
    assert names - {"awkward"} == {one.name for one in tables(workload)[0].schema}
    assert ("awkward" in names) is ("awkward" in workload.options)
    ids = pa.concat_tables(found).filter(pc.field("kind") == "event")["id"]
    assert sorted(ids.to_pylist()) == list(range(EVENTS))


def test_every_id_is_there_once_except_for_redeliveries(workload):
    found = pa.concat_tables(tables(workload)).to_pandas()
    assert sorted(found.id[found.kind == "event"]) == list(range(EVENTS))
    assert set(found.id[found.kind == "redelivery"]) <= set(range(EVENTS))


def test_seq_grows_within_a_key_of_a_producer(workload):
    found = pa.concat_tables(tables(workload)).to_pandas()
    for _, seqs in found[found.kind == "event"].groupby(["producer", "key"], dropna=False).seq:
        assert seqs.is_monotonic_increasing
        assert seqs.is_unique


def test_the_sentinel_is_an_event_like_the_others(workload):
    (schema,) = {table.schema for table in tables(workload)}
    given = {"events": EVENTS, **NEEDED.get(workload.name, {})}
    own = {} if workload.name == "page_views" else {"sentinel": '{"order_id": 0}'}
    last = workload.sentinel(workload.resolve(given | own), 5)
    assert {one.name: one.type for one in last.schema} == {one.name: one.type for one in schema}
    if own:
        assert last["value"].to_pylist() == [b'{"order_id": 0}']
        assert workload.sentinel(workload.resolve(given), 5) is None
