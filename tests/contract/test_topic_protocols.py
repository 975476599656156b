"""Crashes at each point of topic sinks, on real brokers, without Spark."""

import json
import re
from collections import Counter

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from onceproof import fencing
from onceproof.cli import carry_out
from onceproof.errors import RequestError, StackError
from onceproof.machine.polling import wait_for
from onceproof.sinks import Target, find_sink
from onceproof.sinks.files.parquet_rows import signed
from onceproof.sinks.in_spark.part_tasks import write_part
from onceproof.sinks.protocol import Part, SupersededError
from onceproof.sinks.topics import checks as topic_checks
from onceproof.sinks.topics.checks import Brokers, refuse, timeout_ms, warnings
from onceproof.sinks.topics.rows import record_target
from tests.further import further_but
from tests.unit.file_sinks import COLUMNS, PARTS, ROWS, CrashError, Scene, expected, frame
from tests.unit.file_sinks import without_writer as plain
from tests.unit.handwritten_checkpoint import commit, write_checkpoint, write_file

pytestmark = pytest.mark.stack
TASKS = ["task_begin", "task_mid", "pre_committed", "task_done"]
APPLIED = ["apply_half", "applied_unmarked", "marked"]
POINTS = {
    "two_phase_topic": [
        *(*TASKS, "all_pre_committed", "decided", "commit_half", "committed", "sink_committed")
    ],
    "wal_topic": [*TASKS, "staged", "sink_committed", *APPLIED],
}
EVERY = [("two_phase_topic", point) for point in POINTS["two_phase_topic"]]
EVERY += [("wal_topic", point) for point in ("staged", "apply_half", "applied_unmarked")]
# The steps at which something is decided or committed; tests/unit/model has every step.
IN_CI = [("two_phase_topic", point) for point in ("pre_committed", "decided", "commit_half")]
IN_CI += [("wal_topic", point) for point in ("apply_half", "applied_unmarked")]
EXTRA = {("wal_topic", "apply_half"): 1, ("wal_topic", "applied_unmarked"): ROWS}


MESSAGES = {
    "gone": "its pre-committed part main:1:1:0:",
    "lost": "was aborted by the brokers after its time-out of 1,000 ms: its rows are lost",
}


def write_records(target, given, batch, begin, writer, epoch):
    """Run each task once, as executors do."""
    parts = []
    for number, rows in enumerate(given.partitions):
        part = Part(writer, epoch, target.attempt, batch, number, number)
        cells = {"value": [json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows]}
        cells["key"] = [app for app, _ in rows]
        made = [signed(pa.record_batch(cells), target, batch)] if rows else []
        if write_part(iter(made), part, begin):
            parts.append(part)
    return parts


class TopicScene(Scene):
    """A sink of a topic, its checkpoint, and its attempts; the test writes the commit log."""

    def __init__(self, name, bootstrap, folder, monkeypatch):
        self.kind, self.monkeypatch = find_sink(name), monkeypatch
        monkeypatch.setattr("onceproof.sinks.in_spark.part_tasks.write_parts", write_records)
        for module in ("two_phase_topic", "wal_topic"):
            monkeypatch.setattr(
                f"onceproof.sinks.topics.{module}.as_records", lambda target, frame: frame
            )
        self.checkpoint = write_checkpoint(folder / "checkpoint")
        for path in (self.checkpoint / "commits").iterdir():
            path.unlink()
        self.root, self.attempts = folder / "output", 0
        at = {"checkpoint": str(self.checkpoint), "options": {"partitions": 2}}
        self.target = Target(bootstrap, f"run-{name}.output", COLUMNS, ("app",), **at)
        self.sink().drop()
        self.sink().prepare()

    def batch(self, sink, batch):
        """Run a batch as the engine does, including its entry in the commit log."""
        sink.write(frame(batch), batch)
        write_file(self.checkpoint / "commits" / str(batch), commit(0))

    def batches(self, sink, *numbers):
        for batch in numbers:
            self.batch(sink, batch)

    def left(self):
        """Return the number of staged parts, open transactions and hidden records."""
        staged = self.sink().log().parts() if self.sink().family == "wal" else []
        return len(staged) + sum(self.sink().open())

    @property
    def place(self):
        return f"kafka://{self.target.address}#{self.target.name}"


@pytest.fixture
def make(stack, tmp_path, monkeypatch):
    made = []
    monkeypatch.setenv("COLUMNS", "220")

    def make_one(name="two_phase_topic"):
        made.append(TopicScene(name, stack.brokers.bootstrap, tmp_path, monkeypatch))
        return made[-1]

    yield make_one
    monkeypatch.undo()
    for scene in made:
        scene.sink().drop()


def write_once_more(part, rows):
    part.write(rows)
    part.pre_commit()


def died(scene, point, batch=0):
    sink = scene.attempt()
    scene.crash_at(point, batch)
    with pytest.raises(CrashError):
        sink.write(frame(batch), batch)
    return sink


@pytest.mark.parametrize(("name", "point"), further_but(IN_CI, EVERY))
def test_rows_are_as_promised_after_a_crash_at_any_point_and_a_replay(make, name, point):
    scene = make(name)
    first = scene.attempt()
    applied = 1 if point in APPLIED else 0
    scene.crash_at(point, 1)
    scene.batch(first, 0)
    with pytest.raises(CrashError, match=point):
        scene.batches(first, 1, 2)
    second = scene.attempt()
    for batch in range(1 + applied, 3):
        scene.batch(second, batch)
    scene.sink().recover()
    found = Counter(plain(scene.seen()))
    extra = found - Counter(expected(range(3)))
    assert not Counter(expected(range(3))) - found
    assert sum(extra.values()) in ({0} if (name, point) not in EXTRA else {1, 2, ROWS})
    assert scene.left() == 0


@pytest.mark.parametrize("name", POINTS)
def test_every_point_is_visited(make, name):
    scene = make(name)
    scene.crash_at("task_mid", 0, then=lambda: None)
    for batch in (0, 1):
        scene.batch(scene.sink(batch + 1), batch)
    assert set(scene.visited) == set(POINTS[name])


def test_readers_see_only_committed_rows(make):
    scene, seen = make(), {}
    scene.monkeypatch.setattr(
        "onceproof.failpoints.reached",
        lambda step, *_, **__: seen.update({step: len(scene.seen())}),
    )
    scene.attempt().write(frame(0), 0)
    assert [seen[one] for one in ("all_pre_committed", "decided", "committed")] == [0, 0, ROWS]


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
    assert plain(scene.seen()) == expected(range(3))
    assert scene.left() == 0


def test_a_zombie_that_resumes_after_the_sweep_is_fenced(make):
    """Its part is begun but not pre-committed when another run claims."""
    scene = make()
    part = Part("main", 1, 1, 0, 9, 9)
    old = scene.sink(1)
    old.begun().writer.claim()
    zombie = old._begin(part)
    row = {"value": ['{"app": "z", "views": 0}'], "key": ["z"]}
    zombie.write(signed(pa.record_batch(row), record_target(scene.target), 0))
    zombie._producer.flush(30)
    assert scene.sink().open() == (1, 1)
    scene.batch(scene.sink(2), 0)
    failed = rf"writing.to.{scene.target.name}|{scene.target.name}.did.not.store"
    with pytest.raises(StackError, match=failed):
        write_once_more(zombie, signed(pa.record_batch(row), record_target(scene.target), 0))
    assert plain(scene.seen()) == expected([0])
    assert scene.left() == 0


def test_a_transaction_hijacked_before_the_decision_is_replayed_and_recorded(make, tmp_path):
    scene = make()
    scene.monkeypatch.setenv(fencing.FILE, str(tmp_path / "fenced"))

    def hijack():
        name = scene.sink().open_names()[0]
        settings = {"bootstrap.servers": scene.target.address, "transactional.id": name}
        Producer(settings).init_transactions(30)

    sink = scene.attempt()
    scene.crash_at("all_pre_committed", 0, then=hijack)
    with pytest.raises(StackError, match=re.escape(MESSAGES["gone"])):
        sink.write(frame(0), 0)
    scene.batch(scene.attempt(), 0)
    assert plain(scene.seen()) == expected([0])
    assert scene.left() == 0
    records = {one["what"] for one in fencing.read_records(tmp_path / "fenced", 0)}
    assert "a batch was not decided: a part of it is gone" in records


def test_open_items_are_listed_and_settled_as_decided(make, capsys):
    for point, done in (
        ("all_pre_committed", "0 committed, 2 rolled back"),
        ("decided", "2 committed, 0 rolled back"),
    ):
        scene = make()
        died(scene, point)
        assert carry_out(["sweep", scene.place]) == 3
        assert f"main {PARTS}" in " ".join(capsys.readouterr().out.split())
        assert carry_out(["sweep", scene.place, "--writer", "main", "--yes"]) == 0
        output = capsys.readouterr().out
        assert done in output
        assert "a job that still runs is stopped" in output
        assert (len(scene.seen()), scene.left()) == (ROWS if point == "decided" else 0, 0)


def test_a_log_is_settled_by_its_checkpoint(make, capsys):
    scene = make("wal_topic")
    scene.batch(scene.attempt(), 0)
    words = ["sweep", scene.place, "--writer", "main", "--yes"]
    assert carry_out(words) == 3
    assert "--checkpoint" in capsys.readouterr().err
    assert carry_out([*words, "--checkpoint", str(scene.checkpoint)]) == 0
    assert "1 batches added" in capsys.readouterr().out
    assert plain(scene.seen()) == expected([0])


def test_a_time_out_between_decision_and_commit_is_given_up_by_a_sweep(make, capsys):
    scene = make()
    options = {"partitions": 2, "transaction_timeout_ms": 1000}
    scene.target = Target(**{**vars(scene.target), "options": options})
    died(scene, "decided")
    names = scene.sink().open_names()

    def has_expired():
        with_all = scene.sink().parts()
        found = with_all.coordinator.look(names)
        with_all.close()
        return all(seen.state == "CompleteAbort" for seen in found.values())

    wait_for(has_expired, 30, "the transaction does not expire")
    for _ in range(2):
        with pytest.raises(StackError, match=re.escape(MESSAGES["lost"])):
            scene.sink().recover()
    assert carry_out(["sweep", scene.place, "--writer", "main", "--yes"]) == 0
    output = capsys.readouterr().out
    assert "decided, but its rows are lost: will be given up" in output
    assert "1 batches given up" in output
    scene.batch(scene.sink(2), 1)
    assert plain(scene.seen()) == expected([1])


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("kafka://{address}", "lacks a topic"),
        ("kafka://{address}#nowhere", "nowhere has no writers: there is no topic nowhere."),
        ("kafka://nowhere#t", "invalid Kafka address 'nowhere'; use host:port,host:port"),
    ],
)
def test_a_place_without_writers_is_rejected(stack, capsys, place, message):
    assert carry_out(["sweep", place.format(address=stack.brokers.bootstrap)]) == 3
    assert message in " ".join(capsys.readouterr().err.split())


def test_versions_and_settings_are_read_from_the_brokers(make, monkeypatch):
    scene = make()
    found = scene.sink()._cluster.ask(Brokers.of)
    assert (found.transaction_version, found.list_version) == (2, 2)
    refuse(found)
    assert warnings(found) == []
    assert timeout_ms(scene.target) == topic_checks._LARGEST_MS
