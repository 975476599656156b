"""DuckDB as this package opens it: neither a path nor statistics change the rows of a file."""

import re
from functools import cache

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceproof import database
from onceproof.database import open_database, read_parquet
from onceproof.errors import EvidenceError
from onceproof.machine.data_files import data_files
from onceproof.phases.judge import judge_run
from onceproof.runs.ledger import parquet_files, query_parquet, read_rows
from tests.unit.handwritten_run import HandwrittenRun, saw

MESSAGES = {
    "other file": "ledger/b.PARQUET is not a parquet file",
    "loop": "a folder above it",
    "listing": "ledger/ cannot be listed",
    "damaged": "observed/part.parquet is not readable parquet",
}
NAN = float("nan")


def rows(folder, **columns):
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / "part.parquet")
    return folder


def test_no_progress_bar_is_printed():
    found = open_database().execute("select current_setting('enable_progress_bar')").fetchone()
    assert found == (False,)


def test_rows_below_a_folder_that_names_a_column_are_those_of_the_file(tmp_path):
    folder = rows(tmp_path / "version=1" / "KEY=9" / "a[1]*", key=["a"], version=[5])
    assert query_parquet(folder, "select key, version from {rows}") == [("a", 5)]
    assert read_rows(folder).to_pydict() == {"key": ["a"], "version": [5]}
    with open_database() as opened:
        source = read_parquet([folder / "part.parquet"])
        assert opened.sql(f"from {source}").fetchall() == [("a", 5)]


@pytest.mark.parametrize("parent", ["plain", "version=1"])
def test_a_regressed_row_is_found_wherever_the_run_is(tmp_path, parent):
    run = HandwrittenRun()
    run.reads = [
        *(saw(1, "a", 5), saw(1, "b"), saw(1, "c")),
        *(saw(3, "a", 5, copies=-1), saw(3, "a", 2, batch=1, attempt=2)),
        *(saw(3, key, 2, batch=1, attempt=2) for key in "def"),
    ]
    for record in run.history:
        if record["proof"].get("poll") == 3:
            record["proof"]["rows"] = 5
    folder = tmp_path / parent / "run"
    folder.parent.mkdir()
    run.write(folder)
    reasons = " ".join(finding.reason for finding in judge_run(folder).findings)
    assert "regressed" in reasons


def test_hashes_of_a_column_with_nan_and_one_other_value_fall_into_their_own_groups(tmp_path):
    folder = rows(tmp_path / "side", k=[1.0, NAN] * 1500)
    with open_database() as opened:
        source = read_parquet([folder / "part.parquet"])
        query = f"select hash(k) = hash('nan'::double), count(*) from {source} group by all"  # noqa: S608
        assert sorted(opened.sql(query).fetchall()) == [(False, 1500), (True, 1500)]
        by_bucket = f"select hash(k) >> 48 as b, count(*) from {source} group by b"  # noqa: S608
        assert [n for _, n in opened.sql(by_bucket).fetchall()] == [1500, 1500]


def test_no_file_of_a_folder_is_silently_left_out(tmp_path):
    folder = rows(tmp_path / "ledger", id=[1])
    rows(tmp_path / "elsewhere", id=[2])
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    (folder / "_half.parquet").touch()
    assert len(parquet_files(folder)) == 2
    (folder / "b.PARQUET").touch()
    with pytest.raises(EvidenceError, match=re.escape(MESSAGES["other file"])):
        parquet_files(folder)
    (tmp_path / "elsewhere/back").symlink_to(folder)
    with pytest.raises(OSError, match=re.escape(MESSAGES["loop"])):
        data_files(folder)
    with pytest.raises(EvidenceError, match=re.escape(MESSAGES["listing"])):
        parquet_files(folder)


def test_a_damaged_file_is_named(tmp_path):
    folder = rows(tmp_path / "observed", id=[1])
    (folder / "part.parquet").write_bytes(b"PAR1")
    with pytest.raises(EvidenceError, match=re.escape(MESSAGES["damaged"])):
        read_rows(folder)


class Invalidated:
    """A database after a fatal error, which cannot be provoked on purpose."""

    def cursor(self):
        return self

    def execute(self, _):
        raise duckdb.FatalException("database has been invalidated")


def test_after_a_fatal_error_there_is_a_new_database(monkeypatch):
    made = iter([Invalidated(), open_database()])
    monkeypatch.setattr(database, "open_database", lambda: next(made))
    monkeypatch.setattr(database, "_shared", cache(database._shared.__wrapped__))
    assert database.cursor().execute("select 1").fetchall() == [(1,)]
    assert next(made, None) is None
