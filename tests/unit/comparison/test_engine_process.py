"""The engine in a process of its own: its crash is an error, and it leaves nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceproof import cli
from onceproof.comparison import compare, engine_process
from onceproof.comparison import comparing as comparison
from onceproof.errors import EngineError, RequestError
from onceproof.machine.polling import wait_for
from tests.unit.comparison.sides import parquet


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """The engine apart, as users have it, with a temporary folder of the test's own."""
    monkeypatch.setattr(comparison, "compare_in_process", engine_process.compare_in_process)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def sides(tmp_path):
    return [
        parquet(tmp_path, "e", {"id": [1, 2], "m": [[("a", 1)], None]}, m=MAP),
        parquet(tmp_path, "o", {"id": [2, 3], "m": [None, [("b", None)]]}, m=MAP),
    ]


MAP = pa.map_(pa.string(), pa.int32())


def children():
    """The processes that this one has started and not yet waited for."""
    return {
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


def dies_by(number):
    """What sends this signal to the engine as soon as it says what it does."""
    before = children()

    def progress(_):
        for pid in children() - before:
            os.kill(pid, number)

    return progress


def test_its_answer_and_its_details_are_those_of_an_engine_in_this_process(sides, tmp_path):
    said = []
    found = compare(*sides, key=["id"], write_to=tmp_path / "d", progress=said.append)
    assert dict(found.counts) == {"lost": 1, "duplicated": 0, "unexpected": 1, "changed": 0}
    details = pq.read_table(tmp_path / "d/differences.parquet").to_pylist()
    assert [one["key"] for one in details] == [{"id": 1}, {"id": 3}]
    assert details[1]["observed"] == [{"id": 3, "m": [("b", None)]}]
    assert said[0] == "fingerprints of all rows"
    assert compare(sides[0], sides[0], key=["id"]).equal


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_an_engine_that_a_signal_kills_is_an_error_that_names_it(sides, number):
    with pytest.raises(EngineError, match=number.name):
        compare(*sides, key=["id"], progress=dies_by(number))


def test_a_crash_is_exit_code_2_for_diff(sides, monkeypatch, capsys):
    fault = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(engine_process, "COMMAND", (sys.executable, "-c", fault))
    assert cli.carry_out(["diff", *map(str, sides), "--key", "id"]) == 2
    assert "SIGSEGV" in capsys.readouterr().err


def test_an_unexpected_error_of_the_engine_has_its_traceback(sides, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(sides[0].parent))
    (sides[0].parent / "sitecustomize.py").write_text(
        "import onceproof.comparison.on_duckdb.engine as engine\n"
        "def broken(*_): raise KeyError('planted')\n"
        "engine.compare_on_duckdb = broken\n"
    )
    with pytest.raises(EngineError, match=r"(?s)Traceback.*KeyError:.*'planted'"):
        compare(*sides, key=["id"])


def test_a_refusal_of_the_engine_is_a_refusal(sides):
    with pytest.raises(RequestError, match=r"--key.*'x'"):
        compare(*sides, key=["x"])


def test_a_file_in_the_working_folder_is_not_taken_for_a_library(sides, tmp_path, monkeypatch):
    (tmp_path / "duckdb.py").write_text("raise SystemExit('the wrong duckdb')")
    monkeypatch.chdir(tmp_path)
    assert compare("e.parquet", "e.parquet", key=["id"]).equal


PARENT = """
import subprocess, sys
from onceproof.comparison import compare, engine_process

child = '''
import os, signal, sys
from onceproof.comparison import engine_process

def compare_and_wait(order):
    print(os.getpid(), file=sys.stderr, flush=True)
    signal.pause()

engine_process._compare = compare_and_wait
engine_process.main()
'''
engine_process.COMMAND = (sys.executable, "-c", child)
start = subprocess.Popen
subprocess.Popen = lambda *given, stderr, **more: start(*given, **more)
compare(*sys.argv[1:])
"""


def test_the_engine_ends_with_its_parent_process(sides, scratch):
    command = [sys.executable, "-c", PARENT, *sides]
    env = os.environ | {"TMPDIR": str(sides[0].parent)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as parent:
        engine = int(parent.stderr.readline())
        assert is_alive(engine)
        parent.kill()
    wait_for(lambda: not is_alive(engine), 20, f"the engine {engine} outlives its parent")


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
