"""A reader of folders returns all added and all removed rows, and no others."""

import datetime as dt
import os
import re
import shutil
import time

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.sinks import Target
from onceproof.sinks.files import folders
from onceproof.sinks.files.folders import data_of, exchange, folder_of, publish, visible
from onceproof.sinks.files.parquet_rows import schema, signed
from onceproof.sinks.files.reader import FolderReader, read

MESSAGES = {
    "gone file": "a.parquet is listed but does not exist",
    "torn file": "b.parquet of output cannot be read: ",
    "gone folder": "data cannot be listed: it is gone",
    "address": "invalid address ",
    "name": "invalid target ",
    "file system": "cannot hold output: [Errno 22] Invalid argument; use a local one",
}
COLUMNS = {"app": "string", "hour": "int", "views": "bigint", "share": "double"}


@pytest.fixture
def target(tmp_path):
    made = Target(str(tmp_path), "output", COLUMNS, ("app", "hour"), "views", attempt=1)
    folders.make(made)
    return made


@pytest.fixture
def reader(target):
    return FolderReader(target, lambda: visible(data_of(target)))


def put(target, name, *rows, batch=0):
    """Put a file of rows (app, views, hour, share) into the visible folder."""
    whole = [(*row, *(1, 0.5)[len(row) - 2 :]) for row in rows]
    cells = dict(zip(("app", "views", "hour", "share"), zip(*whole, strict=True), strict=True))
    at = data_of(target) / name
    at.parent.mkdir(exist_ok=True)
    wanted = {name: schema(target).field(name).type for name in cells}
    given = pa.record_batch({name: pa.array(cells[name], wanted[name]) for name in cells})
    rows = pa.Table.from_batches([signed(given, target, batch)])
    parquet.write_table(rows, at)
    return at


def looked(reader):
    """The rows of a look, in order: copies, the app, its views."""
    found = reader.look().rows.to_pylist()
    return sorted((row["copies"], row["key"].split('"')[1], row["version"]) for row in found)


def digest(target, tmp_path):
    return read(target, lambda: visible(data_of(target)), tmp_path / "read")


def test_new_rows_are_returned_once(target, reader):
    assert looked(reader) == []
    put(target, "a.parquet", ("a", 3))
    assert looked(reader) == [(1, "a", 3)]
    put(target, "b.parquet", ("b", 4))
    assert looked(reader) == [(1, "b", 4)]
    assert looked(reader) == []


def test_a_row_has_key_value_batch_and_attempt(target, reader):
    put(target, "a.parquet", ('é "x"', 3, None), batch=7)
    (row,) = reader.look().rows.to_pylist()
    assert row == {"copies": 1, "key": '["é \\"x\\"", null]', "value": "[3, 0.5]"} | {
        "version": 3,
        "position": None,
        "batch": 7,
        "attempt": 1,
    }


def test_like_values_are_one_text(target, reader):
    put(target, "a.parquet", ("a", 3, 1, -0.0), ("a", 3, 1, 0.0))
    assert set(reader.look().rows["value"].to_pylist()) == {"[3, 0.0]"}


@pytest.mark.parametrize("name", ["_a.parquet", ".a.parquet", "_stage/a.parquet", "a.txt"])
def test_staged_and_hidden_files_are_never_read(target, reader, tmp_path, name):
    put(target, name, ("a", 3))
    assert looked(reader) == []
    assert digest(target, tmp_path)[0] == 0


def test_rows_of_a_removed_file_are_returned_as_removed(target, reader):
    path = put(target, "batch=0/a.parquet", ("a", 3), ("b", 3))
    put(target, "c.parquet", ("c", 3))
    looked(reader)
    path.unlink()
    assert looked(reader) == [(-1, "a", 3), (-1, "b", 3)]


def test_a_file_that_came_back_under_its_name_is_another(target, reader):
    put(target, "a.parquet", ("a", 3))
    looked(reader)
    put(target, "_b.parquet", ("b", 4)).rename(data_of(target) / "a.parquet")
    assert looked(reader) == [(-1, "a", 3), (1, "b", 4)]


def test_an_exchanged_folder_is_removed_and_added(target, reader):
    put(target, "batch=0/a.parquet", ("a", 3))
    looked(reader)
    put(target, "_new/b.parquet", ("a", 3), ("b", 4))
    exchange(data_of(target) / "_new", data_of(target) / "batch=0")
    assert looked(reader) == [(-1, "a", 3), (1, "a", 3), (1, "b", 4)]


def test_a_folder_that_is_exchanged_during_a_look_is_listed_whole(target, monkeypatch):
    """A folder that is replaced while it is being listed is listed again."""
    put(target, "batch=0/a.parquet", ("a", 3))
    put(target, "_new/b.parquet", ("b", 4))
    seen = []

    def listed(handle):
        if not seen and os.readlink(f"/proc/self/fd/{handle}").endswith("batch=0"):
            seen.append(handle)
            exchange(data_of(target) / "_new", data_of(target) / "batch=0")
            (data_of(target) / "_new" / "a.parquet").unlink()
        return scandir(handle)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", listed)
    assert list(visible(data_of(target))) == ["batch=0/b.parquet"]


def test_a_file_removed_before_it_is_read_is_not_returned(target, reader):
    path = put(target, "a.parquet", ("a", 3))
    listed = [visible(data_of(target))]
    path.unlink()
    reader.listing = lambda: listed.pop() if listed else visible(data_of(target))
    assert looked(reader) == []


def test_a_file_that_is_listed_and_never_there_fails_a_look(target, reader):
    found = visible(put(target, "a.parquet", ("a", 3)).parent)
    reader.listing = lambda: found
    (data_of(target) / "a.parquet").unlink()
    with pytest.raises(StackError, match=re.escape(MESSAGES["gone file"])):
        reader.look()


def test_a_torn_file_fails_a_look_and_the_next_one_returns_everything(target, reader):
    put(target, "a.parquet", ("a", 3))
    torn = data_of(target) / "b.parquet"
    torn.write_bytes(b"PAR1 and no more")
    with pytest.raises(StackError, match=re.escape(MESSAGES["torn file"])):
        reader.look()
    torn.unlink()
    assert looked(reader) == [(1, "a", 3)]


def test_a_folder_that_is_not_there_fails_a_look(target, reader):
    shutil.rmtree(data_of(target))
    with pytest.raises(StackError, match=re.escape(MESSAGES["gone folder"])):
        reader.look()


def test_the_digest_is_of_the_rows_and_not_of_their_files(target, tmp_path):
    put(target, "a.parquet", ("a", 3), ("b", 4))
    before = digest(target, tmp_path)
    shutil.rmtree(data_of(target))
    put(target, "x.parquet", ("b", 4))
    put(target, "batch=0/y.parquet", ("a", 3))
    assert digest(target, tmp_path) == before
    put(target, "z.parquet", ("a", 3))
    assert digest(target, tmp_path)[0] == 3
    assert parquet.read_schema(tmp_path / "read/rows.parquet").equals(schema(target))


def test_timestamps_as_spark_writes_them_are_read_as_moments(tmp_path):
    target = Target(str(tmp_path), "output", {"at": "timestamp"}, ("at",))
    folders.make(target)
    moment = dt.datetime(1960, 2, 29, 23, 59, 59, 999999, tzinfo=dt.UTC)
    rows = pa.table({"at": [moment.replace(tzinfo=None)], "_batch": [1], "_attempt": [1]})
    parquet.write_table(rows, data_of(target) / "a.parquet", use_deprecated_int96_timestamps=True)
    digest(target, tmp_path)
    (found,) = parquet.read_table(tmp_path / "read")["at"].to_pylist()
    assert found == moment


@pytest.mark.parametrize("address", ["hdfs://namenode/x", "s3a://bucket", "relative/path"])
def test_an_address_outside_this_machine_is_rejected(address):
    with pytest.raises(RequestError, match=re.escape(MESSAGES["address"] + repr(address))):
        folder_of(Target(address, "output", COLUMNS, ("app",)))


@pytest.mark.parametrize("name", ["", "..", "a/b"])
def test_a_name_that_is_not_a_folder_name_is_rejected(name, tmp_path):
    with pytest.raises(RequestError, match=re.escape(MESSAGES["name"] + repr(name))):
        folder_of(Target(str(tmp_path), name, COLUMNS, ("app",)))


def test_a_file_system_that_cannot_exchange_two_names_is_refused(target, monkeypatch):
    def refused(one, other):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(folders, "exchange", refused)
    with pytest.raises(StackError, match=re.escape(MESSAGES["file system"])):
        folders.make(target)
    assert os.listdir(folder_of(target)) == ["data"]


def test_a_name_is_published_once_and_whole(tmp_path):
    assert publish(tmp_path / "decision", "one")
    assert not publish(tmp_path / "decision", "other")
    assert (tmp_path / "decision").read_text() == "one"
    assert os.listdir(tmp_path) == ["decision"]


def test_a_hundred_thousand_rows_cost_little_to_look_at_again(target, reader):
    for number in range(100):
        put(target, f"{number}.parquet", *((f"app {one}", number) for one in range(1000)))
    seconds = []
    for came in (100_000, 0, 1):
        began = time.monotonic()
        assert reader.look().rows.num_rows == came
        seconds.append(time.monotonic() - began)
        if came == 0:
            put(target, "one.parquet", ("one", 1))
    assert max(seconds[1:]) < seconds[0] / 5
