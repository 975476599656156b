"""Claims of runs whose processes share no state, in a folder."""

import re
import threading

import pytest

from onceproof.errors import RequestError, StackError
from onceproof.sinks.files.claims import FileClaims
from onceproof.sinks.in_spark.source_options import sink_of
from onceproof.sinks.protocol import SupersededError
from onceproof.sinks.protocol.shared_run import SharedRun, TaskResult
from tests.unit.file_sinks import COLUMNS, Scene, expected, frame, without_writer, write_parts

MESSAGES = {
    "superseded": "writer main was claimed by another run (epoch 3 or later)",
    "continuous": "batch 0 has tasks without a result",
    "removed": "the records of writer main were removed during the run",
}


@pytest.fixture
def claims(tmp_path):
    return FileClaims(tmp_path / "_writers" / "main")


def at_once(claims, runs):
    """Let these runs claim after the newest epoch concurrently; return each run's result."""
    behind, found = claims.claimed()[0], []

    def claim(run):
        found.append((run, claims.claim_for(run, 1, behind)))

    tasks = [threading.Thread(target=claim, args=(run,)) for run in runs]
    for one in tasks:
        one.start()
    for one in tasks:
        one.join()
    return found


def test_tasks_of_a_run_that_claim_at_once_get_one_epoch(claims):
    for turn in range(20):
        assert at_once(claims, [f"run {turn}"] * 4) == [(f"run {turn}", turn + 1)] * 4


def test_of_runs_that_claim_after_the_same_epoch_one_succeeds(claims):
    for turn in range(20):
        runs = [f"{turn}-{number}" for number in range(4)]
        found = at_once(claims, runs)
        epoch, winner = claims.claimed()
        assert epoch == turn + 1
        assert dict(found) == {run: epoch if run == winner else None for run in runs}


def test_a_run_that_was_superseded_never_claims_again(claims):
    assert claims.claim_for("old", 1, 0) == 1
    assert claims.claim_for("old", 1, 0) == 1
    assert claims.claim_for("new", 2, 1) == 2
    assert claims.claim_for("old", 1, 1) is None
    assert claims.claim_for("old", 1, 2) is None
    assert claims.claimed() == (2, "new")


def test_a_delayed_task_claims_nothing(claims):
    claims.claim(1)
    assert claims.claim_for("late", 1, 0) is None
    assert claims.claimed()[0] == 1


def test_a_claim_after_a_newer_one_gets_no_epoch(claims, monkeypatch):
    """It was about to create epoch 1; meanwhile 1 and 2 were claimed, and 1 was removed."""
    real = FileClaims._took
    others = []

    def took(self, epoch, run, attempt):
        if not others:
            others.append(run)
            others.extend(FileClaims(claims.folder).claim(number) for number in (1, 2))
        return real(self, epoch, run, attempt)

    monkeypatch.setattr(FileClaims, "_took", took)
    assert claims.claim(3) == 3
    assert [path.name for path in claims.folder.glob("epoch-*")] == ["epoch-3"]


class Job:
    """A run in which each step is another process."""

    def __init__(self, scene, run, attempt):
        self.scene, self.run, self.attempt = scene, run, attempt

    def process(self):
        protocol = self.scene.sink(self.attempt).begun()
        return SharedRun(protocol, protocol.writer.memory)

    def tasks(self, batch, before=None):
        before = before or self.process().state()
        task = self.process()
        epoch = task.join(self.run, before)
        if batch <= before.newest:
            return [TaskResult(epoch, None, is_replay=True)]
        begin = task.protocol.store.begin
        target = self.scene.sink(self.attempt).target
        parts = write_parts(target, frame(batch), batch, begin, "main", epoch)
        return [TaskResult(epoch, part, is_replay=False) for part in parts]

    def batch(self, number):
        self.process().commit(number, self.tasks(number))


@pytest.fixture
def scene(tmp_path, monkeypatch):
    return Scene("two_phase_files", tmp_path, monkeypatch)


def test_batches_of_two_runs_are_there_once(scene):
    Job(scene, "a", 1).batch(0)
    second = Job(scene, "b", 2)
    for batch in (0, 1, 2):
        second.batch(batch)
    assert without_writer(scene.seen()) == expected(range(3))
    assert scene.staged() == []


def test_parts_written_before_another_run_claimed_are_never_decided(scene):
    first, second = Job(scene, "a", 1), Job(scene, "b", 2)
    results = first.tasks(0)
    second.batch(0)
    first.process().commit(0, results)  # keeps the other run's decision, and undoes these parts
    second.batch(1)
    results = Job(scene, "c", 3).tasks(2)
    with pytest.raises(SupersededError, match=re.escape(MESSAGES["superseded"])):
        second.batch(2)
    Job(scene, "c", 3).process().commit(2, results)
    assert without_writer(scene.seen()) == expected(range(3))
    assert scene.staged() == []


def test_a_claim_by_tasks_settles_older_runs(scene):
    Job(scene, "a", 1).tasks(0)
    assert len(scene.staged()) == 2
    Job(scene, "b", 2).process().join("b", Job(scene, "b", 2).process().state())
    assert scene.staged() == []


def test_a_failed_batch_is_undone_and_a_decided_one_is_not(scene):
    job = Job(scene, "a", 1)
    results = job.tasks(0)
    job.process().abort(0, [*results, None])
    assert (scene.seen(), scene.staged()) == ([], [])
    scene.crash_at("decided", 0)
    results = job.tasks(0)
    with pytest.raises(Exception, match="decided"):
        job.process().commit(0, results)
    job.process().abort(0, results)
    assert without_writer(scene.seen()) == expected([0])


def test_tasks_without_results_are_not_a_batch(scene):
    job = Job(scene, "a", 1)
    with pytest.raises(RequestError, match=re.escape(MESSAGES["continuous"])):
        job.process().commit(0, [None, None])
    with pytest.raises(RequestError):
        job.process().commit(0, [])


def test_a_memory_removed_during_a_replay_decides_nothing(scene):
    job = Job(scene, "a", 1)
    with pytest.raises(StackError, match=re.escape(MESSAGES["removed"])):
        job.process().commit(0, [TaskResult(1, None, is_replay=True)])


GIVEN = {"store": "files", "address": "/srv", "name": "orders", "checkpointlocation": "/srv/c"}


def test_options_are_a_sink_and_its_target():
    kind, target = sink_of({**GIVEN, "ATTEMPT": " 3 ", "writer": "w"}, COLUMNS)
    assert (kind, target.attempt, target.writer) == ("two_phase_files", 3, "w")
    assert (target.name, target.checkpoint, target.columns) == ("orders", "/srv/c", COLUMNS)
    assert sink_of({**GIVEN, "store": "two_phase_table"}, COLUMNS)[0] == "two_phase_table"


@pytest.mark.parametrize("name", GIVEN)
def test_an_option_that_is_missing_is_named_as_it_is_written(name):
    written = "checkpointLocation" if name == "checkpointlocation" else name
    given = {key: text for key, text in GIVEN.items() if key != name}
    with pytest.raises(RequestError, match=rf"\b{written}\b"):
        sink_of(given, COLUMNS)
