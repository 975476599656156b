"""Rows of an output with all of its columns, for suites of a user's own."""

import datetime as dt
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import StackError
from onceproof.sinks import ReadsAll, Target, find_sink
from onceproof.sinks.outputs.all_columns import cells_of
from onceproof.sinks.topics.cluster import Cluster
from tests.unit.sinks.test_topic_reader import Topic, record

MESSAGES = {
    "twice": "column id is in the file and in the names of its folders",
    "apart": "output have no common columns",
    "record": "record 0 of output, partition 0, is not a row of id",
    "bytes": "column n cannot be read",
}
BROKERS = "127.0.0.1:1"
NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


@pytest.fixture
def target(tmp_path):
    (tmp_path / "output").mkdir()
    return Target(str(tmp_path), "output", {"id": "string"}, ("id",))


def read(name, target):
    folder = Path(target.address, "all")
    sink = find_sink(name)(replace(target, address=BROKERS) if name == "topic" else target)
    assert isinstance(sink, ReadsAll)
    sink.read_all(folder)
    return parquet.read_table(folder / "rows.parquet")


def write(target, name, **columns):
    path = Path(target.address, "output", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


def test_parquet_has_every_column_in_its_own_type(target):
    write(target, "a.parquet", id=[7], amount=[Decimal("1.50")], at=[NOON], shop=[{"no": 1}])
    write(target, "b.parquet", id=[8], note=["late"])
    found = read("parquet", target).to_pylist()
    assert found == [
        {"id": 7, "amount": Decimal("1.50"), "at": NOON, "shop": {"no": 1}, "note": None},
        {"id": 8, "amount": None, "at": None, "shop": None, "note": "late"},
    ]


def test_folders_of_parquet_are_columns_of_numbers_or_of_text(target):
    for folder in ("hour=5/day=5", "hour=__HIVE_DEFAULT_PARTITION__/day=01", "hour=6/day=a%3Ab"):
        write(target, f"{folder}/a.parquet", id=[1])
    found = sorted((row["day"], row["hour"]) for row in read("parquet", target).to_pylist())
    assert found == [("01", None), ("5", 5), ("a:b", 6)]


def test_a_column_in_file_and_folder_and_columns_without_a_common_type_are_errors(target):
    write(target, "id=5/a.parquet", id=[1])
    with pytest.raises(StackError, match=re.escape(MESSAGES["twice"])):
        read("parquet", target)
    write(target, "id=5/a.parquet", n=[1])
    write(target, "id=5/b.parquet", n=["a"])
    with pytest.raises(StackError, match=re.escape(MESSAGES["apart"])):
        read("parquet", target)


def test_json_has_every_member_and_nested_ones_as_text(target):
    lines = ['{"id": 7, "n": 1, "tags": ["a", 1.50]}', '{"id": 8, "n": 2.5, "is_new": true}']
    Path(target.address, "output/a.json").write_text("\n".join(lines))
    assert read("json", target).to_pylist() == [
        {"id": 7, "n": 1.0, "tags": '["a", 1.50]', "is_new": None},
        {"id": 8, "n": 2.5, "tags": None, "is_new": True},
    ]


@pytest.mark.parametrize("name", ["parquet", "json"])
def test_a_folder_without_files_has_the_declared_columns(target, name):
    assert (read(name, target).column_names, read(name, target).num_rows) == (["id"], 0)


def test_rows_of_a_function_have_all_that_it_returns(target, tmp_path):
    (tmp_path / "reader.py").write_text("def rows(target): return [{'id': 1, 'note': 'x'}]\n")
    asked = replace(target, options={"read": f"{tmp_path}/reader.py:rows"})
    assert read("rows", asked).to_pylist() == [{"id": 1, "note": "x"}]


def topic_of(monkeypatch, *records):
    monkeypatch.setattr(Cluster, "consumer", lambda self, isolation: Topic(p0=list(records)))


def test_a_topic_has_all_members_and_the_key_where_the_value_has_none(target, monkeypatch):
    values = (b'{"amount": 1.5}', b'{"id": 8, "note": "x"}')
    topic_of(monkeypatch, *(record(one, key=b"7", offset=at) for at, one in enumerate(values)))
    assert read("topic", target).to_pylist() == [
        {"id": "7", "amount": 1.5, "note": None},
        {"id": "8", "amount": None, "note": "x"},
    ]


def test_records_as_they_are_also_have_their_partition_and_time(target, monkeypatch):
    topic_of(monkeypatch, record(b"text", key=b"7"))
    plain = replace(target, columns={"value": "string"}, key=())
    moment = dt.datetime.fromtimestamp(1_700_000_000.123, tz=dt.UTC)
    assert read("topic", plain).to_pylist() == [
        {"value": "text", "partition": 0, "timestamp": moment}
    ]


def test_a_record_that_is_no_object_is_an_error(target, monkeypatch):
    topic_of(monkeypatch, record(b"[1]"))
    with pytest.raises(StackError, match=re.escape(MESSAGES["record"])):
        read("topic", target)


@pytest.mark.parametrize(
    ("values", "kind", "kept"),
    [
        ([2**53 + 1, 1.5], "string", ["9007199254740993", "1.5"]),
        ([2**70, None], "string", [str(2**70), None]),
        ([True, 1], "string", ["true", "1"]),
        ([dt.date(2024, 1, 1), NOON], "string", ["2024-01-01", "2024-02-29 12:00:00+00:00"]),
        ([Decimal("NaN"), Decimal("1.5")], "string", ["NaN", "1.5"]),
        ([None, None], "null", [None, None]),
        ([1, None], "int64", [1, None]),
    ],
)
def test_values_that_one_type_does_not_hold_exactly_are_text(values, kind, kept):
    found = cells_of("n", values)
    assert (str(found.type), found.to_pylist()) == (kind, kept)


def test_bytes_among_other_values_are_an_error():
    with pytest.raises(StackError, match=re.escape(MESSAGES["bytes"])):
        cells_of("n", [b"a", 1])
