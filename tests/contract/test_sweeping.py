"""`onceproof sweep` on the open items of crashed sinks: listed, then settled as decided."""

import os
import pty
import re
import subprocess
import sys

import pytest

from onceproof.cli import carry_out
from tests.contract.test_table_protocols import TableScene
from tests.unit.file_sinks import PARTS, ROWS, CrashError, Scene, expected, frame, without_writer

pytestmark = pytest.mark.stack
CLAIMED = "either a newer run has claimed the writer"
DECIDED, UNDECIDED = "decided: will be committed", "not decided: will be rolled back"


@pytest.fixture
def make(stack, tmp_path, monkeypatch):
    made = []
    monkeypatch.setenv("COLUMNS", "200")  # so that no line of a table is folded

    def make_one(name):
        if name in ("two_phase_files", "batch_folder"):
            return Scene(name, tmp_path, monkeypatch)
        address = stack.members["store"].address
        made.append(TableScene(name, address, tmp_path, monkeypatch))
        return made[-1]

    yield make_one
    monkeypatch.undo()
    for scene in made:
        scene.sink().drop()


def place(scene):
    if isinstance(scene, TableScene):
        return f"{scene.target.address}#{scene.target.name}"
    return str(scene.root)


def writer(scene):
    return {"two_phase_files": "main", "batch_folder": "batches"}.get(
        scene.kind.__module__.rpartition(".")[2], scene.target.name
    )


def died(scene, point):
    sink = scene.attempt()
    scene.crash_at(point, 0)
    with pytest.raises(CrashError):
        sink.write(frame(0), 0)


def one_line(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("name", ["two_phase_table", "two_phase_files"])
@pytest.mark.parametrize(
    ("point", "fate", "done", "batches"),
    [
        ("all_pre_committed", UNDECIDED, "0 committed, 2 rolled back", []),
        ("decided", DECIDED, "2 committed, 0 rolled back", [0]),
    ],
)
def test_open_items_are_listed_and_settled_as_decided(
    make, capsys, name, point, fate, done, batches
):
    scene = make(name)
    died(scene, point)
    assert carry_out(["sweep", place(scene), "--writer", writer(scene)]) == 3
    output = capsys.readouterr()
    assert "nothing was changed; without a terminal, write --yes" in output.err
    shown = one_line(output.out)
    assert shown.count(fate) == PARTS
    assert re.search(r"(prepared|staged file) 0 1 \d+ s \S+:1:1:0:0:0", shown)
    assert scene.sink().open()[0] == PARTS
    assert carry_out(["sweep", place(scene), "--writer", writer(scene), "--yes"]) == 0
    output = capsys.readouterr().out
    assert "a job that still runs is stopped" in output
    assert done in output
    assert (without_writer(scene.seen()), scene.sink().open()[0]) == (expected(batches), 0)


def test_a_running_job_is_stopped_by_a_sweep(make, capsys):
    scene = make("two_phase_table")
    sink = scene.attempt()
    words = ["sweep", place(scene), "--writer", writer(scene), "--yes"]
    codes = []
    scene.crash_at("all_pre_committed", 0, then=lambda: codes.append(carry_out(words)))
    with pytest.raises(Exception, match=re.escape(CLAIMED)):
        sink.write(frame(0), 0)
    assert codes == [0]
    scene.sink(2).write(frame(0), 0)
    assert without_writer(scene.seen()) == expected([0])


def test_writers_are_listed_and_one_must_be_named(make, capsys):
    scene = make("two_phase_table")
    assert carry_out(["sweep", place(scene)]) == 0
    assert capsys.readouterr().out == "Nothing is left open.\n"
    died(scene, "all_pre_committed")
    assert carry_out(["sweep", place(scene)]) == 3
    output = capsys.readouterr()
    assert f"{scene.target.name} {PARTS}" in one_line(output.out)
    assert "--writer is missing" in output.err
    assert carry_out(["sweep", place(scene), "--writer", "absent"]) == 3
    output = capsys.readouterr().err
    assert "absent" in output
    assert scene.target.name in output


def test_nothing_to_do_claims_nothing(make, capsys):
    scene = make("two_phase_files")
    sink = scene.attempt()
    sink.write(frame(0), 0)
    assert carry_out(["sweep", place(scene), "--writer", "main", "--yes"]) == 0
    assert capsys.readouterr().out == "Writer main left nothing open.\n"
    sink.write(frame(1), 1)
    assert without_writer(scene.seen()) == expected([0, 1])


def test_a_log_is_settled_by_its_checkpoint(make, capsys):
    """Batch 0 is in the commit log; 1 is only staged; one task has staged its part of 2."""
    scene = make("wal_table_atomic")
    sink = scene.attempt()
    scene.batch(sink, 0)
    scene.sink(2).write(frame(1), 1)
    scene.crash_at("pre_committed", 2)
    with pytest.raises(CrashError):
        scene.sink(3).write(frame(2), 2)
    words = ["sweep", place(scene), "--writer", writer(scene), "--yes"]
    assert carry_out(words) == 3
    assert "--checkpoint" in capsys.readouterr().err
    assert carry_out([*words, "--checkpoint", str(scene.checkpoint)]) == 0
    output = one_line(capsys.readouterr().out)
    assert output.count("not in the commit log yet: will stay") == PARTS
    assert output.count("in no decision: will be removed") == 1
    assert "0 batches added, 1 staged parts removed" in output
    assert without_writer(scene.seen()) == expected([0])
    (scene.checkpoint / "commits" / "1").write_text('v1\n{"nextBatchWatermarkMs":0}')
    assert carry_out([*words, "--checkpoint", str(scene.checkpoint)]) == 0
    assert "1 batches added" in capsys.readouterr().out
    assert without_writer(scene.seen()) == expected([0, 1])
    assert scene.left() == 0


def test_staged_files_of_a_batch_folder_are_removed(make, capsys):
    scene = make("batch_folder")
    died(scene, "write_half")
    assert carry_out(["sweep", place(scene), "--writer", "batches", "--yes"]) == 0
    assert f"{PARTS} staged parts removed" in capsys.readouterr().out
    assert (scene.seen(), scene.staged()) == ([], [])


@pytest.mark.parametrize(("answer", "code", "rows"), [("y\n", 0, ROWS), ("n\n", 3, 0)])
def test_on_a_terminal_it_asks(make, answer, code, rows):
    scene = make("two_phase_files")
    died(scene, "decided")
    ours, its = pty.openpty()
    words = [sys.executable, "-m", "onceproof", "sweep", place(scene), "--writer", "main"]
    child = subprocess.Popen(words, stdin=its, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.write(ours, answer.encode())
    output = child.communicate(timeout=60)[0].decode()
    os.close(ours)
    os.close(its)
    assert child.returncode == code
    assert "Settle them? [y/N]" in output
    assert len(scene.seen()) == rows


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{address}", "names no table; write it after a #"),
        ("{address}#orders", "invalid target 'orders'; use schema.table"),
        ("{address}#nowhere.orders", "schema nowhere has no table onceproof_writers"),
        ("{folder}/nowhere", "nowhere has no folder _writers"),
    ],
)
def test_a_place_without_writers_is_rejected(stack, tmp_path, capsys, given, message):
    words = given.format(address=stack.members["store"].address, folder=tmp_path)
    assert carry_out(["sweep", words]) == 3
    assert message in capsys.readouterr().err


def test_a_store_that_does_not_answer_gives_exit_code_2(capsys):
    assert carry_out(["sweep", "postgresql://me@127.0.0.1:1/db#shop.orders"]) == 2
    assert "connection" in capsys.readouterr().err.lower()
