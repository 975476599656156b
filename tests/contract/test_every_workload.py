"""What must hold for every workload that is registered."""

import pyarrow as pa
import pytest

from onceproof.workloads import WORKLOADS, find_workload
from onceproof.workloads.sentinel import sentinel

COLUMNS = {
    "id": pa.int64(),
    "producer": pa.int32(),
    "key": pa.string(),
    "seq": pa.int64(),
    "event_ms": pa.int64(),
    "amount": pa.int64(),
    "kind": pa.string(),
}
EVENTS, PRODUCERS = 30_001, 3

pytestmark = pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)


def tables(workload, seed=7, **given):
    options = workload.resolve({"events": EVENTS, "producers": PRODUCERS, **given})
    return [pa.concat_tables(workload.events(options, seed, one)) for one in range(PRODUCERS)]


def test_it_is_found_by_its_name_and_its_defaults_are_good(workload):
    options = find_workload(workload.name).resolve({})
    assert find_workload(workload.name).resolve(options) == options


def test_the_same_seed_gives_the_same_events_and_another_gives_others(workload):
    assert tables(workload) == tables(workload)
    assert tables(workload) != tables(workload, seed=8)


def test_its_columns_are_those_of_the_ledger(workload):
    for table in tables(workload):
        assert {one.name: one.type for one in table.schema} == COLUMNS
        assert sum(column.null_count for column in table.columns) == 0


def test_every_id_is_there_once_but_for_redeliveries(workload):
    found = pa.concat_tables(tables(workload)).to_pandas()
    assert sorted(found.id[found.kind == "event"]) == list(range(EVENTS))
    assert set(found.id[found.kind == "redelivery"]) <= set(range(EVENTS))


def test_seq_grows_within_a_key_of_a_producer(workload):
    found = pa.concat_tables(tables(workload)).to_pandas()
    for _, seqs in found[found.kind == "event"].groupby(["producer", "key"]).seq:
        assert seqs.is_monotonic_increasing
        assert seqs.is_unique


def test_the_sentinel_is_an_event_like_the_others(workload):
    (schema,) = {table.schema for table in tables(workload)}
    last = sentinel(EVENTS, 5)
    assert {one.name: one.type for one in last.schema} == {one.name: one.type for one in schema}
