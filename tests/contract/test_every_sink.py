"""The contract of every sink: exact rows, replays by its guarantee, and a complete clean-up."""

import datetime as dt
import re
import threading
from functools import partial
from pathlib import Path

import psycopg
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import RequestError
from onceproof.failpoints import FOLDER, Failpoint
from onceproof.judging.seen_rows import Shape
from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import Writes
from onceproof.sinks import SINKS, OwnQuery, Target, find_sink
from onceproof.spark.session import spark_session
from onceproof.stacks.members.brokers import ask
from onceproof.stacks.members.programs import spark_tools
from tests.further import further_but
from tests.unit.handwritten_checkpoint import offsets, write_checkpoint, write_file

pytestmark = [pytest.mark.stack, pytest.mark.spark]
KINDS = {"id": "bigint", "part": "int", "name": "string", "value": "double", "right": "boolean"} | {
    "At Time": "timestamp"
}
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=dt.UTC)
ODD = [
    (1, 1, "quotes \" and ' and, commas", 1.5, True, MOMENT),
    (2, 1, "", float("nan"), False, None),
    (2, 2, "two\nlines\r\nand\ta tab", float("-inf"), None, MOMENT.replace(year=1960)),
    (3, 1, "\\.", -1e-300, True, None),
    (3, 2, "before\n\\.\nafter \\N \\n", 0.1, True, None),
    (4, 1, "日本 é \U0001f600 \u2028 {}%s", None, None, None),
    (5, None, None, None, None, None),
]


@pytest.fixture(scope="module")
def armed(tmp_path_factory):
    return tmp_path_factory.mktemp("failpoints")


@pytest.fixture(scope="module")
def spark(tmp_path_factory, armed):
    more = {f"spark.executorEnv.{FOLDER}": str(armed)}
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder, more) as session:
        yield session


NAMES = [name for name in SINKS if not issubclass(find_sink(name), OwnQuery)]
PLAIN = ("append", "idempotent")  # families without a protocol
MESSAGES = {
    "checkpoint": "this checkpoint belongs to query another",
    "column": "the batch has no column name; it must have id, part, name",
}


def where(is_meant):
    """Parametrize `make` with the sinks that satisfy a condition."""
    names = [name for name in NAMES if is_meant(find_sink(name))]
    return pytest.mark.parametrize("make", names, indirect=True)


@pytest.fixture(params=NAMES)
def make(request, stack, tmp_path):
    """Return a function that creates the sink for an attempt; the test's end drops its target."""
    kind = find_sink(request.param)
    addresses = {"postgresql": stack.members["store"].address, "files": str(tmp_path)}
    addresses["kafka"] = stack.brokers.bootstrap
    target = Target(
        addresses[kind.store],
        f"run_{request.param}.output",
        KINDS,
        ("id", "part"),
        checkpoint=str(checkpoint(tmp_path / "checkpoint")),
    )
    made = partial(attempt, kind, target)
    made(0).prepare()
    yield made
    made(0).drop()


def checkpoint(folder):
    """Write a checkpoint of ten committed batches."""
    write_checkpoint(folder)
    for batch in range(10):
        ends = (batch, batch)
        write_file(folder / "offsets" / str(batch), offsets(0, ends))
        write_file(folder / "commits" / str(batch), 'v1\n{"nextBatchWatermarkMs":0}')
    return folder


def attempt(kind, target, number):
    return kind(Target(**{**vars(target), "attempt": number}))


def rows(spark, *given):
    whole = [(*row, *(None,) * (len(KINDS) - len(row))) for row in given]
    return spark.createDataFrame(
        whole, ", ".join(f"`{name}` {kind}" for name, kind in KINDS.items())
    )


def settled(make, folder):
    """Return the visible rows after the last write and a recovery."""
    make(0).recover()
    return seen(make(0), folder)


def seen(sink, folder: Path):
    """Return the visible rows, in order; NaN as its text."""
    folder = folder / "read"
    count, digest = sink.read(folder)
    found = [list(row.values()) for row in parquet.read_table(folder).to_pylist()]
    assert count == len(found)
    assert sink.read(folder) == (count, digest)
    return sorted([repr(plain(one)) for one in row] for row in found)


def plain(value):
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def halting(armed, name, monkeypatch=None):
    """Arm a new failpoint; steps of the driver need the test's own environment variable."""
    for old in armed.iterdir():
        old.unlink()
    if monkeypatch:
        monkeypatch.setenv(FOLDER, str(armed))
    point = Failpoint("fault", name, 0, armed)
    point.arm()
    return point


def struck(point, look):
    """Call `look` while a process is halted, then let it go on; return a getter of the result."""
    found = []

    def strike():
        wait_for(point.reached, 60, f"{point.name} is not reached")
        found.append(look())
        point.let_go()

    thread = threading.Thread(target=strike)
    thread.start()

    def looked():
        thread.join(60)
        return found[0]

    return looked


def test_a_batch_is_read_back_as_it_was_written(make, spark, tmp_path):
    """By the final read and by a last look, whose texts equal the rows cell by cell."""
    make(3).write(rows(spark, *ODD), 7)
    assert settled(make, tmp_path) == sorted([repr(one) for one in (*row, 7, 3)] for row in ODD)
    assert make(0).open() == (0, 0)
    reader = make(0).reader()
    names = ("key", "value", "version", "batch", "attempt", "copies")
    looked = [[row[name] for name in names] for row in reader.look().rows.to_pylist()]
    reader.close()
    shape = Shape(KINDS, ("id", "part"), None)
    assert shape.polled(looked) == shape.observed(tmp_path / "read") != 0


def test_an_empty_batch_is_written_too(make, spark, tmp_path):
    make(1).write(rows(spark, *ODD).limit(0), 0)
    assert settled(make, tmp_path) == []


def test_a_replayed_batch_is_there_once_except_in_the_control(make, spark, tmp_path):
    for number in (1, 2):
        make(number).write(rows(spark, (1, 1, "a"), (2, 1, "b")), 0)
    found = settled(make, tmp_path)
    is_control = make(0).family == "append"
    assert len(found) == (4 if is_control else 2)
    assert len({row[-1] for row in found}) == (2 if is_control else 1)


@where(lambda kind: kind.writes is not Writes.APPEND)
def test_an_older_batch_never_overwrites_a_newer_one(make, spark, tmp_path):
    older = rows(spark, (1, 1, "older"), (1, 3, "older"))
    first = make(1)
    first.write(older, 4)
    first.write(rows(spark, (1, 1, "newer"), (1, 2, "newer")), 5)
    make(2).write(older, 4)
    found = [(row[1], row[2], row[-2]) for row in settled(make, tmp_path)]
    assert found == [("1", "'newer'", "5"), ("2", "'newer'", "5"), ("3", "'older'", "4")]


def test_a_reader_sees_a_batch_once_it_is_settled(make, spark):
    reader = make(0).reader()
    assert reader.look().rows.num_rows == 0
    make(1).write(rows(spark, (1, None, "a"), (2, 1, "b")), 4)
    make(0).recover()
    (found, *_) = sorted(reader.look().rows.to_pylist(), key=lambda row: row["key"])
    cells = [found[name] for name in ("copies", "key", "batch", "attempt")]
    assert cells == [1, "[1, null]", 4, 1]
    reader.close()


@where(lambda kind: (kind.family, kind.writes) == ("idempotent", Writes.UPSERT))
def test_a_late_replay_changes_no_visible_row(make, spark):
    batch = rows(spark, (1, None, "a", None), (2, 1, "b", float("nan")))
    late, reader = make(1), make(0).reader()
    late.write(rows(spark, (3, 1, "c")), 3)
    make(2).write(batch, 4)
    assert reader.look().rows.num_rows == 3
    late.write(batch, 4)
    assert reader.look().rows.num_rows == 0
    reader.close()


@where(lambda kind: kind.family != "append")
def test_a_sink_with_a_memory_rejects_another_checkpoint(make, spark, tmp_path):
    make(1).write(rows(spark, (1, 1, "a")), 0)
    write_file(tmp_path / "checkpoint" / "metadata", '{"id": "another"}')
    with pytest.raises(RequestError, match=re.escape(MESSAGES["checkpoint"])):
        make(2).write(rows(spark, (1, 1, "a")), 0)


def test_a_frame_without_a_column_is_rejected(make, spark):
    with pytest.raises(RequestError, match=re.escape(MESSAGES["column"])):
        make(1).write(rows(spark, (1, 1)).drop("name"), 0)


@where(lambda kind: kind.family in PLAIN)
def test_half_of_a_batch_is_written_at_write_half_and_all_of_it_after(
    make, spark, tmp_path, armed, monkeypatch
):
    """At the failpoint half of the rows are visible, unless batches are atomic."""
    point = halting(armed, "write_half", monkeypatch)
    looked = struck(point, lambda: seen(make(0), tmp_path))
    make(1).write(rows(spark, *((number, 1) for number in range(10))), 0)
    assert len(looked()) == (0 if make(0).atomic_batches else 5)
    assert len(settled(make, tmp_path)) == 10


OF_TASKS = [
    (sink, name)
    for sink in NAMES
    for name in ("task_begin", "task_mid", "task_done")
    if name in find_sink(sink).steps  # the other sinks use Spark's own tasks
]


# Both sinks of topics have the tasks of one module, and one of them all three steps in CI.
@pytest.mark.parametrize(
    ("make", "name"),
    further_but([one for one in OF_TASKS if one[0] != "wal_topic"], OF_TASKS),
    indirect=["make"],
)
def test_tasks_reach_their_failpoints(make, spark, tmp_path, armed, name):
    point = halting(armed, name)
    looked = struck(point, lambda: seen(make(0), tmp_path))
    frame = rows(spark, *((number, 1) for number in range(10))).coalesce(1)
    make(1).write(frame, 0)
    is_seen = name == "task_done" and make(0).store == "postgresql"
    is_seen &= make(0).family in PLAIN
    assert len(looked()) == (10 if is_seen else 0)
    assert point.reached()["partition"] == 0
    assert len(settled(make, tmp_path)) == 10


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (sink, name)
        for sink in NAMES
        for name in ("written", "sink_committed")
        if name == "sink_committed" or find_sink(sink).family in PLAIN
    ],
    indirect=["make"],
)
def test_all_rows_are_visible_after_the_write(make, spark, tmp_path, armed, monkeypatch, name):
    """Except with a write-ahead log, which waits for the engine."""
    looked = struck(halting(armed, name, monkeypatch), lambda: seen(make(0), tmp_path))
    make(1).write(rows(spark, (1, 1), (2, 1)), 0)
    assert len(looked()) == (0 if make(0).family == "wal" else 2)


def test_dropping_leaves_nothing(make, stack):
    make(0).drop()
    target = make(0).target
    assert not (Path(target.address) / target.name).exists()

    def is_gone():
        topics = ask(stack.brokers, lambda client: client.list_topics())
        return not [one for one in topics if one.startswith(target.name)]

    wait_for(is_gone, 10, f"there are topics of {target.name}")
    with psycopg.connect(stack.members["store"].address) as connection:
        query = "select count(*) from pg_namespace where nspname = %s"
        assert connection.execute(query, [target.name.split(".")[0]]).fetchone() == (0,)
    make(0).drop()
