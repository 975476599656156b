"""Reading the outputs of users' jobs: folders, and rows of a user's function."""

import gzip
import json
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.guarantee import Guarantee
from onceproof.runs.plan import Writes
from onceproof.sinks import OUTPUTS, Target, find_sink
from onceproof.sinks.outputs import is_output

MESSAGES = {
    "no JSON": "a.json is not JSON lines: ",
    "no key": "no row of a.json has the key order_id; its columns are id",
    "misfit": "a.json has a value that does not fit its column: ",
    "no folder": "run.output does not exist: the job has not created it",
    "files": "has files before the job starts; write empty: true",
    "stranger": "has orders.py, which is not a .json file, so nothing was removed",
    "function": "rows raised JSONDecodeError: ",
}
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
def test_an_output_has_the_traits_that_its_options_declare(name):
    needed = {"read": "m:f"} if name == "rows" else {}
    kind = find_sink(name, {"guarantee": "at-least-once", "writes": "upsert", **needed})
    assert (kind.guarantee, kind.writes) == (Guarantee.AT_LEAST_ONCE, Writes.UPSERT)
    assert is_output(kind)
    assert find_sink(name, needed).guarantee is Guarantee.EXACTLY_ONCE
    assert find_sink(name).store in ("postgresql", "files", "kafka", "any")


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("table", {"tabel": "x"}, "'tabel'.*'table'"),
        ("table", {"guarantee": "twice"}, "guarantee.*'twice'"),
        ("json", {"empty": "yes"}, "empty.*'yes'"),
        ("json", {"empty": 1}, "empty.*1"),
        ("rows", {}, "read"),
        ("rows", {"read": 3}, "read.*3"),
        ("parquet", {"folder": 2024}, "folder.*2024"),
        ("parquet", {"folder": ""}, "folder.*''"),
        ("topic", {"topic": 3}, "topic.*3"),
        ("topic", {"partitions": "many"}, "partitions.*'many'"),
        ("topic", {"partitions": True}, "partitions.*True"),
        ("table", {"create": 1.5}, r"create.*1\.5"),
    ],
)
def test_an_invalid_option_of_an_output_is_rejected(name, options, named):
    with pytest.raises(RequestError, match=named):
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
    ("text", "message"),
    [
        ("[1", MESSAGES["no JSON"]),
        ('{"id": 1}', MESSAGES["no key"]),
        ('{"order_id": 1, "amount": "much"}', MESSAGES["misfit"]),
    ],
)
def test_an_unreadable_file_is_an_error(target, tmp_path, text, message):
    folder = tmp_path / "output/run.output"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(text)
    with pytest.raises(StackError, match=re.escape(message)):
        opened("json", target).read(tmp_path / "seen")


def test_an_output_that_does_not_exist_is_an_error(target, tmp_path):
    with pytest.raises(StackError, match=re.escape(MESSAGES["no folder"])):
        opened("json", target).read(tmp_path / "seen")


def test_a_folder_of_the_user_s_is_left_alone_unless_it_may_be_emptied(target, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "old.json").write_text("{}")
    named = replace(target, name=str(theirs), options={"folder": str(theirs)})
    with pytest.raises(RequestError, match=re.escape(MESSAGES["files"])):
        opened("json", named).prepare()
    opened("json", named).drop()
    assert (theirs / "old.json").exists()
    may = replace(named, options={**named.options, "empty": True})
    (theirs / "_spark_metadata").mkdir()
    (theirs / "_spark_metadata/0").write_text("v1")
    (theirs / "orders.py").touch()
    with pytest.raises(RequestError, match=re.escape(MESSAGES["stranger"])):
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
    with pytest.raises(StackError, match=re.escape(MESSAGES["function"])):
        reader.look()
