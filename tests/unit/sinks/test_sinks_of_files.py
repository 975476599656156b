"""File sinks: a crash at each point and a replay, other checkpoints, and two drivers at once."""

import json
import os
import re
import shutil

import pytest

from onceproof.errors import RequestError, StackError
from onceproof.sinks.protocol import Part, SupersededError
from tests.unit.file_sinks import (
    ROWS,
    CrashError,
    Scene,
    expected,
    frame,
    without_writer,
)
from tests.unit.handwritten_checkpoint import offsets, write_file

MESSAGES = {
    "lost checkpoint": "this checkpoint belongs to query another",
    "old checkpoint": "covered other offsets, and batch 1 is decided already",
    "skipped": "batch 2 does not follow batch 0",
    "claimed": "either a newer run has claimed the writer",
    "superseded": "a run newer than epoch 1 has claimed writer batches",
    "swept": "was swept from the stage by a newer run",
    "gone part": "its pre-committed part main:1:1:0:0:0 is gone",
    "gone rows": "is decided but is neither in _stage nor in data",
}
TASKS = ["task_begin", "task_mid", "pre_committed", "task_done"]
POINTS = {
    "batch_folder": [*TASKS, "write_half", "written", "sink_committed"],
    "two_phase_files": [
        *(*TASKS, "all_pre_committed", "decided", "commit_half", "committed", "sink_committed")
    ],
}
EVERY = [(name, point) for name, points in POINTS.items() for point in points]


@pytest.fixture(params=POINTS)
def scene(request, tmp_path, monkeypatch):
    return Scene(request.param, tmp_path, monkeypatch)


@pytest.mark.parametrize(("name", "point"), EVERY)
def test_rows_are_exact_after_a_crash_at_any_point_and_a_replay(name, point, tmp_path, monkeypatch):
    scene = Scene(name, tmp_path, monkeypatch)
    scene.crash_at(point, 1)
    first = scene.attempt()
    first.write(frame(0), 0)
    with pytest.raises(CrashError, match=point):
        first.write(frame(1), 1)
    second = scene.attempt()
    assert second.open() == (0, 0)
    assert scene.staged() == []
    for batch in (1, 2):
        second.write(frame(batch), batch)
    assert without_writer(scene.seen()) == expected([0, 1, 2])
    assert scene.staged() == []


@pytest.mark.parametrize(("name", "point"), EVERY)
def test_the_next_run_recovers_a_crashed_one_without_an_explicit_recovery(
    name, point, tmp_path, monkeypatch
):
    scene = Scene(name, tmp_path, monkeypatch)
    scene.crash_at(point, 0)
    with pytest.raises(CrashError):
        scene.sink(1).write(frame(0), 0)
    scene.sink(2).write(frame(0), 0)
    assert without_writer(scene.seen()) == expected([0])
    assert scene.staged() == []


@pytest.mark.parametrize("name", POINTS)
def test_every_point_is_visited(name, tmp_path, monkeypatch):
    scene = Scene(name, tmp_path, monkeypatch)
    scene.crash_at("task_mid", 0, then=lambda: None)
    scene.sink(1).write(frame(0), 0)
    assert set(scene.visited) == set(POINTS[name])


@pytest.mark.parametrize(("name", "point"), EVERY)
def test_readers_see_only_whole_batch_folders_and_decided_files(name, point, tmp_path, monkeypatch):
    scene = Scene(name, tmp_path, monkeypatch)
    seen = []
    scene.crash_at(point, 0, then=lambda: seen.append(len(scene.seen())))
    scene.sink(1).write(frame(0), 0)
    whole = ("written", "committed", "sink_committed")
    assert seen == [ROWS if point in whole else 2 if point == "commit_half" else 0]


def test_a_replay_leaves_each_row_once(scene):
    for number in (1, 2):
        scene.sink(number).write(frame(0), 0)
    assert without_writer(scene.seen()) == expected([0])


def test_a_decided_batch_is_drained_and_not_written(tmp_path, monkeypatch):
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    scene.sink(1).write(frame(0), 0)
    replay = frame(0, (["other"],))
    scene.sink(2).write(replay, 0)
    assert replay.drained
    assert {row[-1] for row in scene.seen()} == {1}


def test_a_replay_replaces_a_batch_folder_atomically(tmp_path, monkeypatch):
    scene = Scene("batch_folder", tmp_path, monkeypatch)
    scene.sink(1).write(frame(0), 0)
    before = os.listdir(scene.root / "data/batch=0")
    scene.sink(2).write(frame(0, (["a"], ["b", "c"])), 0)
    assert without_writer(scene.seen()) == expected([0])
    assert {row[-1] for row in scene.seen()} == {2}
    assert not set(before) & set(os.listdir(scene.root / "data/batch=0"))


def test_a_batch_without_rows_is_recorded_and_adds_no_file(scene):
    scene.sink(1).write(frame(0, ([], [])), 0)
    assert scene.seen() == []
    assert os.listdir(scene.root / "data") == []
    scene.sink(2).write(frame(1), 1)
    assert without_writer(scene.seen()) == expected([1])


def test_a_lost_checkpoint_is_refused(scene):
    scene.sink(1).write(frame(0), 0)
    write_file(scene.checkpoint / "metadata", json.dumps({"id": "another"}))
    with pytest.raises(RequestError, match=re.escape(MESSAGES["lost checkpoint"])):
        scene.sink(2).write(frame(0), 0)
    assert len(scene.seen()) == ROWS


def test_an_old_copy_of_the_checkpoint_is_refused_where_it_plans_otherwise(scene):
    first = scene.sink(1)
    for batch in (0, 1):
        first.write(frame(batch), batch)
    write_file(scene.checkpoint / "offsets" / "1", offsets(1, (12, 9)))
    with pytest.raises(RequestError, match=re.escape(MESSAGES["old checkpoint"])):
        scene.sink(2).write(frame(1), 1)
    assert without_writer(scene.seen()) == expected([0, 1])


def test_a_batch_that_skips_one_is_refused(scene):
    scene.sink(1).write(frame(0), 0)
    with pytest.raises(RequestError, match=re.escape(MESSAGES["skipped"])):
        scene.sink(1).write(frame(2), 2)


def test_losers_of_a_task_are_swept_and_never_seen(scene):
    scene.crash_at("task_mid", 0)
    lost = scene.sink(1)
    with pytest.raises(CrashError):
        lost.write(frame(0), 0)
    scene.has_crashed = True
    lost.write(frame(0), 0)  # files of a failed task of the same run are not part of the batch
    assert without_writer(scene.seen()) == expected([0])
    assert scene.staged() == []


@pytest.mark.parametrize("point", ["pre_committed", "all_pre_committed"])
def test_a_superseded_driver_that_resumes_decides_nothing(point, tmp_path, monkeypatch):
    """Its staged files are swept by the other driver's next commit."""
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    second = scene.sink(2)
    scene.crash_at(point, 0, then=lambda: second.write(frame(0), 0))
    with pytest.raises(StackError, match=re.escape(MESSAGES["claimed"])):
        scene.sink(1).write(frame(0, (["x"], ["y"])), 0)
    second.write(frame(1), 1)
    assert without_writer(scene.seen()) == expected([0, 1])
    assert scene.staged() == []


@pytest.mark.parametrize("point", ["decided", "commit_half"])
def test_a_decided_batch_is_never_undone_by_a_second_driver(point, tmp_path, monkeypatch):
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    second = frame(0, (["x"], ["y"]))
    scene.crash_at(point, 0, then=lambda: scene.sink(2).write(second, 0))
    scene.sink(1).write(frame(0), 0)
    assert second.drained
    assert without_writer(scene.seen()) == expected([0])


@pytest.mark.parametrize("point", ["task_mid", "pre_committed", "write_half"])
def test_a_superseded_driver_puts_no_folder_in_its_place(point, tmp_path, monkeypatch):
    scene = Scene("batch_folder", tmp_path, monkeypatch)
    scene.crash_at(point, 0, then=lambda: scene.sink(2).write(frame(0), 0))
    first = scene.sink(1)
    with pytest.raises(SupersededError, match=re.escape(MESSAGES["superseded"])):
        first.write(frame(0, (["x", "y"],)), 0)
    assert {row[-1] for row in scene.seen()} == {2}
    assert scene.staged() == []
    with pytest.raises(SupersededError):
        first.write(frame(1), 1)


def test_a_task_that_resumes_after_the_sweep_cannot_pre_commit(tmp_path, monkeypatch):
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    store = scene.sink(1)._store
    late = store.begin(Part("main", store.memory.claim(1), 1, 0, 0, 9))
    scene.sink(2).write(frame(0), 0)
    with pytest.raises(StackError, match=re.escape(MESSAGES["swept"])):
        late.pre_commit()
    assert scene.staged() == []


def test_a_batch_with_a_removed_part_is_not_decided(tmp_path, monkeypatch):
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    stage = scene.root / "_stage"
    scene.crash_at("all_pre_committed", 0, then=lambda: shutil.rmtree(stage))
    with pytest.raises(StackError, match=re.escape(MESSAGES["gone part"])):
        scene.sink(1).write(frame(0), 0)
    assert scene.seen() == []


def test_decided_rows_that_were_removed_are_an_error(tmp_path, monkeypatch):
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    stage = scene.root / "_stage"
    scene.crash_at("decided", 0, then=lambda: shutil.rmtree(stage))
    with pytest.raises(StackError, match=re.escape(MESSAGES["gone rows"])):
        scene.sink(1).write(frame(0), 0)


def test_parts_of_another_writer_are_left_alone(tmp_path, monkeypatch):
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    store = scene.sink(1)._store
    store.begin(Part("other-1", 1, 1, 0, 0, 0)).pre_commit()
    scene.sink(1).write(frame(0), 0)
    assert scene.staged() == ["_stage/part-other-1-1-1-0-0-0.parquet"]
    assert store.open() == []


def test_open_counts_the_staged_files_and_their_rows(tmp_path, monkeypatch):
    scene = Scene("two_phase_files", tmp_path, monkeypatch)
    scene.crash_at("all_pre_committed", 0)
    with pytest.raises(CrashError):
        scene.sink(1).write(frame(0), 0)
    assert scene.sink().open() == (2, ROWS)
    done = scene.sink().recover()
    assert len(done["rolled_back"]) == 2
    assert scene.sink().open() == (0, 0)


def test_dropping_leaves_nothing(scene):
    scene.sink(1).write(frame(0), 0)
    for _ in range(2):
        scene.sink().drop()
    assert not scene.root.exists()
