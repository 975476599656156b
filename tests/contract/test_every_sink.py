"""What every sink keeps: rows as they were, batches once or again, and nothing left behind."""

import datetime as dt
import threading
from functools import partial
from pathlib import Path

import psycopg
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import RequestError
from onceproof.failpoints import FOLDER, Failpoint
from onceproof.guarantee import Guarantee
from onceproof.home import onceproof_home
from onceproof.plan import Writes
from onceproof.polling import wait_for
from onceproof.sinks import SINKS, Target, find_sink
from onceproof.spark.session import spark_session
from onceproof.stacks.spark_setup import spark_tools

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


@pytest.fixture(params=SINKS)
def make(request, stack):
    """Make the sink for an attempt; what it made is dropped behind the test."""
    kind = find_sink(request.param)
    address = {"postgresql": stack.members["store"].address}[kind.store]
    target = Target(address, f"run_{request.param}.output", KINDS, ("id", "part"))
    made = partial(attempt, kind, target)
    made(0).prepare()
    yield made
    made(0).drop()


def attempt(kind, target, number):
    return kind(Target(**{**vars(target), "attempt": number}))


def rows(spark, *given):
    whole = [(*row, *(None,) * (len(KINDS) - len(row))) for row in given]
    return spark.createDataFrame(
        whole, ", ".join(f"`{name}` {kind}" for name, kind in KINDS.items())
    )


def seen(sink, folder: Path):
    """The rows as readers see them at the end, in order; NaN as its text."""
    count, digest = sink.read(folder)
    found = [list(row.values()) for row in parquet.read_table(folder).to_pylist()]
    assert count == len(found)
    assert sink.read(folder) == (count, digest)
    return sorted([repr(plain(one)) for one in row] for row in found)


def plain(value):
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def halting(armed, name, monkeypatch=None):
    """Arm a failpoint that was never reached; of the driver's own, its environment must tell."""
    for old in armed.iterdir():
        old.unlink()
    if monkeypatch:
        monkeypatch.setenv(FOLDER, str(armed))
    point = Failpoint("fault", name, 0, armed)
    point.arm()
    return point


def struck(point, look):
    """Look while a process is halted, then let it go on; return how to get what was seen."""
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
    sink = make(3)
    sink.write(rows(spark, *ODD), 7)
    assert seen(sink, tmp_path) == sorted([repr(one) for one in (*row, 7, 3)] for row in ODD)


def test_an_empty_batch_is_written_too(make, spark, tmp_path):
    make(1).write(rows(spark, *ODD).limit(0), 0)
    assert seen(make(0), tmp_path) == []


def test_a_batch_written_again_is_there_once_or_twice_as_the_sink_promises(make, spark, tmp_path):
    for number in (1, 2):
        make(number).write(rows(spark, (1, 1, "a"), (2, 1, "b")), 0)
    found = seen(make(0), tmp_path)
    is_once = make(0).guarantee is Guarantee.EXACTLY_ONCE
    assert len(found) == (2 if is_once else 4)
    assert {row[-1] for row in found} == ({"2"} if is_once else {"1", "2"})


def test_an_older_batch_never_overwrites_a_newer_one(make, spark, tmp_path):
    if make(0).writes is Writes.APPEND:
        pytest.skip("nothing is overwritten here")
    make(1).write(rows(spark, (1, 1, "newer"), (1, 2, "newer")), 5)
    make(2).write(rows(spark, (1, 1, "older"), (1, 3, "older")), 4)
    told = [(row[1], row[2], row[-2]) for row in seen(make(0), tmp_path)]
    assert told == [("1", "'newer'", "5"), ("2", "'newer'", "5"), ("3", "'older'", "4")]


def test_a_reader_sees_a_batch_as_soon_as_it_is_written(make, spark):
    reader = make(0).reader()
    assert reader.look().rows.num_rows == 0
    make(1).write(rows(spark, (1, None, "a"), (2, 1, "b")), 4)
    (found, *_) = sorted(reader.look().rows.to_pylist(), key=lambda row: row["key"])
    told = [found[name] for name in ("copies", "key", "batch", "attempt")]
    assert told == [1, "[1, null]", 4, 1]
    reader.close()


def test_nothing_is_open_and_recovery_leaves_what_was_written(make, spark, tmp_path):
    make(1).write(rows(spark, (1, 1, "a")), 0)
    make(0).recover()
    assert make(0).open() == (0, 0)
    assert len(seen(make(0), tmp_path)) == 1


def test_a_frame_that_lacks_a_column_is_refused(make, spark):
    with pytest.raises(RequestError, match="the batch has no column name: write id, part, name"):
        make(1).write(rows(spark, (1, 1)).drop("name"), 0)


def test_half_of_a_batch_is_seen_at_write_half_and_all_of_it_behind(
    make, spark, tmp_path, armed, monkeypatch
):
    """Whoever strikes sees half of the rows; in a batch of one row there is no half."""
    point = halting(armed, "write_half", monkeypatch)
    make(1).write(rows(spark, (9, 9)), 0)
    assert point.reached() is None
    looked = struck(point, lambda: seen(make(0), tmp_path))
    make(1).write(rows(spark, *((number, 1) for number in range(10))), 1)
    assert len(looked()) == 6
    assert len(seen(make(0), tmp_path)) == 11


@pytest.mark.parametrize("name", ["task_begin", "task_mid", "task_done"])
def test_tasks_come_to_their_failpoints(make, spark, tmp_path, armed, name):
    point = halting(armed, name)
    looked = struck(point, lambda: seen(make(0), tmp_path))
    frame = rows(spark, *((number, 1) for number in range(10))).coalesce(1)
    make(1).write(frame, 0)
    assert len(looked()) == (10 if name == "task_done" else 0)
    assert point.reached()["partition"] == 0
    assert len(seen(make(0), tmp_path)) == 10


@pytest.mark.parametrize("name", ["written", "sink_committed"])
def test_all_is_seen_when_it_was_written(make, spark, tmp_path, armed, monkeypatch, name):
    looked = struck(halting(armed, name, monkeypatch), lambda: seen(make(0), tmp_path))
    make(1).write(rows(spark, (1, 1), (2, 1)), 0)
    assert len(looked()) == 2


def test_dropping_leaves_nothing(make, stack):
    make(0).drop()
    with psycopg.connect(stack.members["store"].address) as connection:
        query = "select count(*) from pg_namespace where nspname = %s"
        assert connection.execute(query, [make(0).target.name.split(".")[0]]).fetchone() == (0,)
    make(0).drop()
