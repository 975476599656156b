"""What jobs of somebody else write, as it is read: in folders, and by a function of the user's."""

import gzip
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.guarantee import Guarantee
from onceproof.runs.plan import Writes
from onceproof.sinks import OUTPUTS, Target, find_sink
from onceproof.sinks.outputs import is_output

COLUMNS = {"order_id": "string", "amount": "double"}


@pytest.fixture
def target(tmp_path):
    return Target(str(tmp_path / "output"), "run.output", COLUMNS, ("order_id",))


def opened(name, target):
    return find_sink(name, target.options)(target)


def rows(sink, folder):
    count, digest = sink.read(folder)
    found = parquet.read_table(folder).to_pylist()
    assert len(found) == count
    return digest, [(row["order_id"], row["amount"]) for row in found]


def look(reader):
    found = reader.look().rows.to_pylist()
    return sorted((row["copies"], row["key"], row["value"]) for row in found)


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_declares_what_its_user_says(name):
    needed = {"read": "m:f"} if name == "rows" else {}
    kind = find_sink(name, {"guarantee": "at-least-once", "writes": "upsert", **needed})
    assert (kind.guarantee, kind.writes) == (Guarantee.AT_LEAST_ONCE, Writes.UPSERT)
    assert is_output(kind)
    assert find_sink(name, needed).guarantee is Guarantee.EXACTLY_ONCE
    assert find_sink(name).store in ("postgresql", "files", "kafka", "any")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "table",
            {"tabel": "x"},
            "unknown key 'tabel'; did you mean 'table'",
        ),
        ("table", {"guarantee": "twice"}, "guarantee: unknown value 'twice'"),
        ("json", {"empty": "yes"}, "empty: invalid value 'yes'; use true or false"),
        ("json", {"empty": 1}, "empty: invalid value 1; use true or false"),
        ("rows", {}, "read is missing; write read: ... .the function"),
        (
            "rows",
            {"read": 3},
            "read: invalid value 3; use a text",
        ),
        ("parquet", {"folder": 2024}, "folder: invalid value 2024; use a text, in quotes"),
        ("parquet", {"folder": ""}, "folder: invalid value ''; use a text"),
        ("topic", {"topic": 3}, "topic: invalid value 3; use a text, in quotes"),
        (
            "topic",
            {"partitions": "many"},
            "partitions: invalid value 'many'; use a whole number",
        ),
        (
            "topic",
            {"partitions": True},
            "partitions: invalid value True; use a whole number",
        ),
        ("table", {"create": 1.5}, "create: invalid value 1.5; use a text, in quotes"),
    ],
)
def test_what_nobody_can_say_of_an_output_is_refused(name, options, said):
    with pytest.raises(RequestError, match=said):
        find_sink(name, options)


def test_parquet_is_read_in_the_columns_that_are_compared(target, tmp_path):
    sink = opened("parquet", target)
    sink.prepare()
    folder = tmp_path / "output/run.output/day=1"
    folder.mkdir(parents=True)
    reader = sink.reader()
    assert look(reader) == []
    table = pa.table({"order_id": [7], "amount": [1.5], "other": ["x"]})
    parquet.write_table(table, folder / "part-0.parquet")
    parquet.write_table(table, folder / "_part-1.parquet")
    assert look(reader) == [(1, '["7"]', "[1.5]")]
    assert look(reader) == []
    assert rows(sink, tmp_path / "seen")[1] == [("7", 1.5)]
    sink.drop()
    assert look(reader) == [(-1, '["7"]', "[1.5]")]


def test_a_folder_s_name_is_a_column(target, tmp_path):
    sink = opened("parquet", replace(target, columns={"order_id": "string", "day": "bigint"}))
    folder = tmp_path / "output/run.output/day=3"
    folder.mkdir(parents=True)
    parquet.write_table(pa.table({"order_id": ["a"]}), folder / "p.parquet")
    assert look(sink.reader()) == [(1, '["a"]', "[3]")]


def test_json_lines_are_read_packed_or_not(target, tmp_path):
    sink = opened("json", target)
    sink.prepare()
    folder = tmp_path / "output/run.output"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"order_id": 1, "amount": 2}\n\n{"order_id": "b"}\n')
    (folder / "b.json.gz").write_bytes(gzip.compress(b'{"order_id": 3, "amount": 4}\n'))
    digest, found = rows(sink, tmp_path / "seen")
    assert found == [("1", 2.0), ("b", None), ("3", 4.0)]
    assert digest == rows(sink, tmp_path / "again")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1", "a.json is not JSON lines"),
        ('{"id": 1}', "no row of a.json has the key order_id: they have id"),
        ('{"order_id": 1, "amount": "much"}', "a.json holds a value that does not fit its column"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(target, tmp_path, text, said):
    folder = tmp_path / "output/run.output"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(text)
    with pytest.raises(StackError, match=said):
        opened("json", target).read(tmp_path / "seen")


def test_an_output_that_nobody_wrote_is_told(target, tmp_path):
    with pytest.raises(StackError, match=r"there is no folder .*run.output: the job has made none"):
        opened("json", target).read(tmp_path / "seen")


def test_a_folder_of_the_user_s_is_left_alone_unless_it_may_be_emptied(target, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "old.json").write_text("{}")
    named = replace(target, name=str(theirs), options={"folder": str(theirs)})
    with pytest.raises(RequestError, match="holds files before the job has begun: write empty"):
        opened("json", named).prepare()
    opened("json", named).drop()
    assert (theirs / "old.json").exists()
    may = replace(named, options={**named.options, "empty": True})
    (theirs / "_spark_metadata").mkdir()
    (theirs / "_spark_metadata/0").write_text("v1")
    (theirs / "orders.py").touch()
    with pytest.raises(
        RequestError, match=r"holds orders\.py, which is no file of \.json: nothing"
    ):
        opened("json", may).prepare()
    assert (theirs / "old.json").exists()
    (theirs / "orders.py").unlink()
    opened("json", may).prepare()
    assert not theirs.exists()


def test_rows_come_from_a_function_of_the_user_s(target, tmp_path):
    module = tmp_path / "orders.py"
    module.write_text(
        "import json, pathlib\n"
        "def rows(target):\n"
        "    return json.loads((pathlib.Path(__file__).parent / 'store').read_text())\n"
    )
    sink = opened("rows", replace(target, options={"read": f"{module}:rows"}))
    store = tmp_path / "store"
    store.write_text(json.dumps([{"order_id": 1, "amount": 2}] * 2))
    reader = sink.reader()
    assert look(reader) == [(1, '["1"]', "[2.0]")] * 2
    store.write_text(json.dumps([{"order_id": 1, "amount": 2}]))
    assert look(reader) == [(-1, '["1"]', "[2.0]")]
    assert rows(sink, tmp_path / "seen")[1] == [("1", 2.0)]
    store.write_text("?")
    with pytest.raises(StackError, match="rows raised JSONDecodeError"):
        reader.look()
