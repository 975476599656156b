"""Crashes at each point of table sinks with a protocol, on a real PostgreSQL, without Spark."""

import re
from collections import Counter
from dataclasses import replace

import psycopg
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.sinks import Target, find_sink
from onceproof.sinks.protocol import Decision, Span, SupersededError
from tests.unit.file_sinks import (
    COLUMNS,
    PARTS,
    ROWS,
    CrashError,
    Scene,
    expected,
    frame,
    without_writer,
    write_parts,
)
from tests.unit.handwritten_checkpoint import commit, offsets, write_checkpoint, write_file

pytestmark = pytest.mark.stack
TASKS = ["task_begin", "task_mid", "pre_committed", "task_done"]
APPLIED = ["apply_half", "applied_unmarked", "marked"]
POINTS = {
    "two_phase_table": [
        *(*TASKS, "all_pre_committed", "decided", "commit_half", "committed", "sink_committed")
    ],
    "wal_table": [*TASKS, "staged", "sink_committed", *APPLIED],
    "wal_table_atomic": [*TASKS, "staged", "sink_committed", "apply_half", "marked"],
}
EVERY = [(name, point) for name, points in POINTS.items() for point in points]
IMPATIENT = ("onceproof.sinks.tables.writer_session._LOCKED_AT_MOST", "set lock_timeout = '200ms'")
EXTRA = {("wal_table", "apply_half"): 1, ("wal_table", "applied_unmarked"): ROWS}


class TableScene(Scene):
    """A sink on a table, its checkpoint, and its attempts; the test writes the commit log."""

    def __init__(self, name, address, folder, monkeypatch):
        self.kind, self.monkeypatch = find_sink(name), monkeypatch
        monkeypatch.setattr("onceproof.sinks.in_spark.part_tasks.write_parts", write_parts)
        self.checkpoint = write_checkpoint(folder / "checkpoint")
        for path in (self.checkpoint / "commits").iterdir():
            path.unlink()
        self.root, self.attempts = folder, 0
        self.target = Target(
            address, f"run_{name}.output", COLUMNS, ("app",), checkpoint=str(self.checkpoint)
        )
        self.sink().drop()
        self.sink().prepare()

    def batch(self, sink, batch):
        """Run a batch as the engine does, including its entry in the commit log."""
        sink.write(frame(batch), batch)
        write_file(self.checkpoint / "commits" / str(batch), commit(0))

    def batches(self, sink, *numbers):
        for batch in numbers:
            self.batch(sink, batch)

    def ask(self, query):
        with psycopg.connect(self.target.address, autocommit=True) as connection:
            return connection.execute(query).fetchall()

    def left(self):
        """Return the number of prepared transactions or staged rows."""
        staged = f"{self.target.name}__staged"
        if self.ask(f"select to_regclass('{staged}')") == [(None,)]:
            return self.sink().open()[0]
        return self.ask(f"select count(*) from {staged}")[0][0]  # noqa: S608


MESSAGES = {
    "old checkpoint": "covered other offsets",
    "lost checkpoint": "this checkpoint belongs to query another",
    "forgotten": "has no decision any more",
}


@pytest.fixture
def make(stack, tmp_path, monkeypatch):
    made = []

    def make_one(name):
        address = stack.members["store"].address
        made.append(TableScene(name, address, tmp_path, monkeypatch))
        return made[-1]

    yield make_one
    monkeypatch.undo()
    for scene in made:
        scene.sink().drop()


@pytest.mark.parametrize(("name", "point"), EVERY)
def test_rows_are_as_promised_after_a_crash_at_any_point_and_a_replay(make, name, point):
    scene = make(name)
    first = scene.attempt()
    applied = 1 if point in APPLIED else 0
    scene.crash_at(point, 1)
    scene.batch(first, 0)
    with pytest.raises(CrashError, match=point):
        scene.batches(first, 1, 2)
    second = scene.attempt()
    assert second.open() == (0, 0)
    for batch in range(1 + applied, 4):
        scene.batch(second, batch)
    scene.sink().recover()
    found = Counter(without_writer(scene.seen()))
    extra = found - Counter(expected(range(4)))
    assert not Counter(expected(range(4))) - found
    assert sum(extra.values()) in ({0} if (name, point) not in EXTRA else {1, 2, ROWS})
    assert scene.left() == 0


@pytest.mark.parametrize("name", POINTS)
def test_every_point_is_visited(make, name):
    scene = make(name)
    scene.crash_at("task_mid", 0, then=lambda: None)
    for batch in (0, 1):
        scene.batch(scene.sink(batch + 1), batch)
    assert set(scene.visited) == set(POINTS[name])


@pytest.mark.parametrize(("name", "point"), EVERY)
def test_readers_see_only_committed_rows(make, name, point):
    scene, seen = make(name), []
    sink = scene.attempt()
    scene.crash_at(point, 0, then=lambda: seen.append(len(scene.seen())))
    for batch in (0, 1):
        scene.batch(sink, batch)
    half = 0 if name == "wal_table_atomic" else 2
    visible = {"committed": ROWS, "commit_half": 2, "apply_half": half, "applied_unmarked": ROWS}
    visible |= {"marked": ROWS, "sink_committed": ROWS if name == "two_phase_table" else 0}
    assert seen == [visible.get(point, 0)]


@pytest.mark.parametrize("name", POINTS)
def test_a_superseded_driver_that_resumes_decides_nothing(make, name):
    scene = make(name)
    old, new = scene.sink(1), scene.sink(2)
    scene.crash_at("task_done", 1, then=lambda: scene.batch(new, 1))
    scene.batch(old, 0)
    with pytest.raises((SupersededError, StackError)):
        old.write(frame(1), 1)
    with pytest.raises((SupersededError, StackError, RequestError)):
        old.write(frame(2), 2)
    scene.batch(new, 2)
    scene.sink().recover()
    assert without_writer(scene.seen()) == expected(range(3))
    assert scene.left() == 0


@pytest.mark.parametrize("name", POINTS)
def test_a_lost_checkpoint_and_an_old_copy_are_rejected(make, name):
    scene = make(name)
    for batch in (0, 1):
        scene.batch(scene.sink(batch + 1), batch)
    write_file(scene.checkpoint / "offsets/1", offsets(1, (11, 5)))
    with pytest.raises(RequestError, match=re.escape(MESSAGES["old checkpoint"])):
        scene.sink(3).write(frame(1), 1)
    write_file(scene.checkpoint / "metadata", '{"id": "another"}')
    with pytest.raises(RequestError, match=re.escape(MESSAGES["lost checkpoint"])):
        scene.sink(3).write(frame(0), 0)


@pytest.fixture
def memory(make, monkeypatch):
    """Return a function that makes a writer's memory, which keeps three decisions."""
    monkeypatch.setattr("onceproof.sinks.tables.memory.KEPT", 3)

    def make_one(name):
        scene = make(name)
        kept = scene.sink(1)._log if name.startswith("wal") else scene.sink(1).begun().writer.memory
        epoch = kept.claim(1)

        def decide(batch, epoch=epoch):
            return kept.decide(Decision(batch, "query", Span("a", "b"), epoch, 1, ()))

        def left():
            query = f"select batch from run_{name}.onceproof_decisions order by batch"  # noqa: S608
            return [batch for (batch,) in scene.ask(query)]

        return kept, decide, left

    return make_one


def test_old_decisions_are_forgotten_and_the_newest_kept(memory):
    kept, decide, left = memory("two_phase_table")
    assert all(map(decide, range(10)))
    assert left() == [7, 8, 9]
    assert kept.newest().batch == 9
    kept.claim(2)
    assert not decide(100)
    assert left() == [7, 8, 9]


def test_a_log_never_forgets_a_batch_that_is_not_applied(memory):
    kept, decide, left = memory("wal_table_atomic")
    for batch in range(10):
        decide(batch)
        if batch != 4:
            assert kept.mark(kept.decision(batch), 1)
    assert left() == [4, 7, 8, 9]
    assert [one.batch for one in kept.waiting()] == [4]
    kept.mark(kept.decision(4), 1)
    decide(10)
    assert left() == [8, 9, 10]


def test_a_checkpoint_with_a_forgotten_batch_is_rejected(make, monkeypatch):
    monkeypatch.setattr("onceproof.sinks.tables.memory.KEPT", 1)
    scene = make("two_phase_table")
    scene.batches(scene.sink(1), 0, 1, 2)
    with pytest.raises(RequestError, match=re.escape(MESSAGES["forgotten"])):
        scene.sink(2).write(frame(0), 0)


def test_a_task_that_is_superseded_half_way_cannot_pre_commit(make):
    scene = make("two_phase_table")
    sink = scene.sink(1)
    scene.crash_at("task_mid", 1, then=lambda: scene.sink().recover())
    scene.batch(sink, 0)
    with pytest.raises(StackError, match=r"terminating|closed"):
        sink.write(frame(1), 1)
    assert scene.left() == 0


def test_open_and_recover_return_the_prepared_and_the_settled_parts(make):
    scene = make("two_phase_table")
    scene.crash_at("commit_half", 0)
    with pytest.raises(CrashError):
        scene.sink(1).write(frame(0), 0)
    assert scene.sink().open() == (PARTS - 1, 0)
    done = scene.sink().recover()
    assert (done["decided"], done["undone"], len(done["committed"])) == ({(0, 1)}, set(), 1)
    scene.crash_at("all_pre_committed", 1)
    with pytest.raises(CrashError):
        scene.sink(2).write(frame(1), 1)
    done = scene.sink().recover()
    assert (done["decided"], done["undone"]) == ({(0, 1)}, {(1, 2)})
    assert len(done["rolled_back"]) == PARTS


def test_an_orphaned_part_blocks_a_unique_key_until_the_sweep(make):
    """An attempt that crashed after its pre-commit locks the key that the next attempt writes."""
    scene = make("two_phase_table")
    with psycopg.connect(scene.target.address) as connection:
        connection.execute("alter table run_two_phase_table.output add unique (app, views)")
    scene.monkeypatch.setattr(
        "onceproof.sinks.tables.writer_session._LOCKED_AT_MOST", "set lock_timeout = '100ms'"
    )

    def twice(target, given, batch, begin, writer, epoch):
        write_parts(target, given, batch, begin, writer, epoch)  # its answers are lost
        return write_parts(target, given, batch, begin, writer, epoch)

    sink = scene.sink(1)
    scene.monkeypatch.setattr("onceproof.sinks.in_spark.part_tasks.write_parts", twice)
    with pytest.raises(StackError, match=r"lock.timeout"):
        sink.write(frame(0), 0)
    assert scene.left() == 0
    scene.monkeypatch.setattr("onceproof.sinks.in_spark.part_tasks.write_parts", write_parts)
    scene.sink(2).write(frame(0), 0)
    assert without_writer(scene.seen()) == expected([0])


def test_a_driver_stopped_in_a_transaction_does_not_block_the_next(make):
    """Stopped while it applies, it holds a lock on the writer's row; the claim ends its session."""
    scene = make("wal_table_atomic")
    scene.monkeypatch.setattr(
        "onceproof.sinks.tables.writer_session._LOCKED_AT_MOST", "set lock_timeout = '200ms'"
    )
    old = scene.sink(1)
    scene.crash_at("apply_half", 0, then=lambda: scene.sink().recover())
    scene.batch(old, 0)
    with pytest.raises((StackError, SupersededError)):
        old.write(frame(1), 1)
    assert without_writer(scene.seen()) == expected([0])


def test_an_invalid_writer_name_is_rejected(make):
    scene = make("two_phase_table")
    target = replace(scene.target, writer="a:b")
    with pytest.raises(RequestError, match="'a:b'"):
        scene.kind(target).open()


def test_writers_of_one_table_do_not_end_each_others_parts(make):
    scene = make("two_phase_table")
    scene.crash_at("all_pre_committed", 0)
    with pytest.raises(CrashError):
        scene.kind(replace(scene.target, attempt=1, writer="other")).write(frame(0), 0)
    scene.sink(1).write(frame(0), 0)
    scene.sink().recover()
    other = scene.kind(replace(scene.target, writer="other"))
    assert other.open() == (PARTS, 0)
    other.recover()
    assert other.open() == (0, 0)
    other.drop()


def test_writers_of_one_name_in_two_schemas_do_not_end_each_others_parts(make):
    """Each has its own memory, so neither knows the decisions of the other."""
    scene = make("two_phase_table")
    one = replace(scene.target, writer="main")
    other = replace(one, name="run_of_another.output")
    scene.kind(other).prepare()
    scene.crash_at("decided", 0)
    with pytest.raises(CrashError):
        scene.kind(replace(one, attempt=1)).write(frame(0), 0)
    assert (scene.kind(one).open(), scene.kind(other).open()) == ((PARTS, 0), (0, 0))
    scene.kind(other).recover()
    scene.kind(other).drop()
    scene.kind(one).recover()
    assert without_writer(scene.seen()) == expected([0])
    scene.kind(one).drop()
    scene.sink().prepare()
