"""Requests that are rejected before a store is reached, and rows as CSV."""

import re

import pyarrow as pa
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.sinks import SINKS, Look, Target, find_sink
from onceproof.sinks.in_spark.part_tasks import cut
from onceproof.sinks.tables.table import columns, table
from onceproof.sinks.tables.writer import _as_csv

TARGET = Target("postgresql://host", "run.output", {"id": "bigint"}, ("id",))


MESSAGES = {
    "not a sink": "has no family; a sink must have ",
    "reserved": "column _batch is reserved for the sink",
    "type": "column at has the unsupported type interval",
    "table": "invalid target ",
    "store": "the store failed an operation on run.output: ",
}


def target(**changes):
    return Target(**{**vars(TARGET), **changes})


@pytest.mark.parametrize("name", SINKS)
def test_a_sink_is_found_by_its_name_and_made_without_a_store(name):
    assert find_sink(name)(TARGET).writes


def test_a_sink_of_ones_own_is_found_by_module_and_attribute():
    assert find_sink("tests.sinks_that_lie:drops_rows").__name__ == "drops_rows"


def test_an_unknown_sink_is_rejected_with_the_choices():
    with pytest.raises(RequestError, match=r"'kite'.*append_table"):
        find_sink("kite")


def test_a_class_that_is_not_a_sink_is_rejected_with_the_missing_part():
    with pytest.raises(RequestError, match=re.escape(MESSAGES["not a sink"])):
        find_sink("onceproof.sinks:Target")


def test_a_column_that_the_sink_writes_itself_is_refused():
    with pytest.raises(RequestError, match=re.escape(MESSAGES["reserved"])):
        columns(target(columns={"_batch": "bigint"}))


def test_an_unsupported_type_is_rejected():
    with pytest.raises(RequestError, match=re.escape(MESSAGES["type"])):
        columns(target(columns={"at": "interval"}))


@pytest.mark.parametrize("name", ["output", "a.b.c", ".output", "run."])
def test_a_name_without_schema_and_table_is_rejected(name):
    with pytest.raises(RequestError, match=re.escape(MESSAGES["table"] + repr(name))):
        table(target(name=name))


@pytest.mark.parametrize("name", [name for name in SINKS if find_sink(name).store == "postgresql"])
def test_an_unreachable_store_is_reported_in_one_line(name, tmp_path):
    sink = find_sink(name)(target(address="postgresql://127.0.0.1:1"))
    for ask in (sink.prepare, lambda: sink.read(tmp_path), sink.drop):
        with pytest.raises(StackError, match=re.escape(MESSAGES["store"])):
            ask()


def test_null_is_an_empty_field_and_an_empty_text_is_quoted():
    rows = pa.record_batch({"a": [None, 1], "b": ["", None]})
    (text,) = _as_csv(iter([rows]), target(attempt=2), 7, 0, [])
    assert text.decode().splitlines() == [',"",7,2', "1,,7,2"]


def test_rows_are_cut_where_half_of_them_end():
    rows = [pa.record_batch({"a": list(range(size))}) for size in (3, 0, 4)]
    assert [one.num_rows for one in cut(rows, 5)] == [3, 0, 2, 2]
    assert [one.num_rows for one in cut(rows, 3)] == [3, 0, 4]


def test_a_look_at_nothing_has_all_columns():
    assert Look.of([]).rows.schema.names[:3] == ["copies", "key", "value"]
