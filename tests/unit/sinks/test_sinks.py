"""What is refused before a store is reached, and how rows become CSV."""

import pyarrow as pa
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.sinks import SINKS, Look, Target, find_sink
from onceproof.sinks.in_spark.part_tasks import cut
from onceproof.sinks.tables.table import columns, table
from onceproof.sinks.tables.writer import _as_csv

TARGET = Target("postgresql://nobody", "run.output", {"id": "bigint"}, ("id",))


def target(**changes):
    return Target(**{**vars(TARGET), **changes})


@pytest.mark.parametrize("name", SINKS)
def test_a_sink_is_found_by_its_name_and_made_without_a_store(name):
    assert find_sink(name)(TARGET).writes


def test_a_sink_of_ones_own_is_found_by_module_and_attribute():
    assert find_sink("tests.sinks_that_lie:drops_rows").__name__ == "drops_rows"


def test_a_sink_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(RequestError, match=r"'kite' cannot be had .*: write one of append_table"):
        find_sink("kite")


def test_what_is_no_sink_is_refused_with_what_it_lacks():
    with pytest.raises(RequestError, match="has no family: a sink has"):
        find_sink("onceproof.sinks:Target")


def test_a_column_that_the_sink_writes_itself_is_refused():
    with pytest.raises(RequestError, match="column _batch is written by the sink itself"):
        columns(target(columns={"_batch": "bigint"}))


def test_a_type_that_no_table_holds_is_refused():
    with pytest.raises(RequestError, match="column at is interval, which no table here holds"):
        columns(target(columns={"at": "interval"}))


@pytest.mark.parametrize("name", ["output", "a.b.c", ".output", "run."])
def test_a_name_that_is_no_table_is_refused(name):
    with pytest.raises(RequestError, match=r"is no table: write schema\.table"):
        table(target(name=name))


@pytest.mark.parametrize("name", [name for name in SINKS if find_sink(name).store == "postgresql"])
def test_a_store_that_is_not_there_is_told_in_one_sentence(name, tmp_path):
    sink = find_sink(name)(target(address="postgresql://127.0.0.1:1"))
    for ask in (sink.prepare, lambda: sink.read(tmp_path), sink.drop):
        with pytest.raises(StackError, match=r"the store did not do what run\.output needs: "):
            ask()


def test_null_is_nothing_and_an_empty_text_is_quoted():
    rows = pa.record_batch({"a": [None, 1], "b": ["", None]})
    (text,) = _as_csv(iter([rows]), target(attempt=2), 7, 0, [])
    assert text.decode().splitlines() == [',"",7,2', "1,,7,2"]


def test_rows_are_cut_where_half_of_them_end():
    rows = [pa.record_batch({"a": list(range(size))}) for size in (3, 0, 4)]
    assert [one.num_rows for one in cut(rows, 5)] == [3, 0, 2, 2]
    assert [one.num_rows for one in cut(rows, 3)] == [3, 0, 4]


def test_a_look_at_nothing_has_all_columns():
    assert Look.of([]).rows.schema.names[:3] == ["copies", "key", "value"]
