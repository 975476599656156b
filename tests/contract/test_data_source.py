"""`format("onceproof_two_phase")` in jobs: undisturbed, killed at every step, and rejected."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pyarrow.parquet as parquet
import pytest
from pyspark.errors import StreamingQueryException

from onceproof.failpoints import FOLDER, Failpoint
from onceproof.machine.home import onceproof_home
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.sinks import Target, find_sink
from onceproof.sinks.data_source import Batches
from onceproof.sinks.protocol import SupersededError
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.contract import stream_by_format
from tests.further import further_but

pytestmark = [pytest.mark.stack, pytest.mark.spark]
COLUMNS = {"name": "string", "views": "bigint"}
STORES = {"table": "two_phase_table", "files": "two_phase_files"}
POINTS = ["pre_committed", "all_pre_committed", "decided", "commit_half", "committed"]
# Both sides of the decision, for each store; tests/unit/model has every step.
IN_CI = [("table", "pre_committed"), ("table", "decided")]
IN_CI += [("files", "all_pre_committed"), ("files", "commit_half")]
ROWS = [(batch, name, batch * 10) for batch in range(3) for name in ("ann", "ben", "eve", "ida")]


MESSAGES = {
    "claimed": "either a newer run has claimed the writer",
    "superseded": "was claimed by another run",
    "lost checkpoint": "which would write all input again",
}


@pytest.fixture(scope="module")
def armed(tmp_path_factory):
    return tmp_path_factory.mktemp("failpoints")


@pytest.fixture(scope="module")
def spark(tmp_path_factory, armed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(armed))
        folder = tmp_path_factory.mktemp("spark")
        with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
            yield session


# Both stores have one protocol; what does not depend on the store is tested with one in CI.
ON_A_TABLE = pytest.mark.parametrize("job", further_but(["table"], STORES), indirect=True)


class Job:
    """The input, checkpoint and target of a query."""

    def __init__(self, store, address, folder):
        self.folder, self.kind = folder, find_sink(STORES[store])
        (folder / "input").mkdir()
        for batch in range(3):
            path = folder / "input" / f"{batch}.csv"
            path.write_text("".join(f"{name},{views}\n" for of, name, views in ROWS if of == batch))
            os.utime(path, (batch, batch))  # Spark reads the oldest file first
        where = {"table": (address, "run_by_format.output"), "files": (str(folder), "output")}
        self.address, self.name = where[store]
        checkpoint = str(folder / "checkpoint")
        self.target = Target(self.address, self.name, COLUMNS, ("name",), checkpoint=checkpoint)
        self.options = {"store": store, "address": self.address, "name": self.name}
        self.options |= {"checkpointLocation": checkpoint}

    def run(self, spark, **more):
        stream_by_format.start(spark, self.folder / "input", self.options | more).awaitTermination(
            60
        )

    def command(self):
        script = [sys.executable, "-m", stream_by_format.__name__, str(self.folder / "input")]
        return [*script, str(self.folder / "spark"), json.dumps(self.options)]

    def seen(self):
        self.kind(self.target).read(self.folder / "read")
        found = parquet.read_table(self.folder / "read").to_pylist()
        return sorted((row["_batch"], row["name"], row["views"]) for row in found)

    def open(self):
        return self.kind(self.target).open()[0]


@pytest.fixture(params=STORES)
def job(request, stack, tmp_path):
    made = Job(request.param, stack.members["store"].address, tmp_path)
    yield made
    made.kind(made.target).drop()


def halt_at(armed, name, batch):
    for old in armed.iterdir():
        old.unlink()
    point = Failpoint("fault", name, batch, armed)
    point.arm()
    return point


def test_rows_of_an_undisturbed_stream_are_there_once_with_their_attempt(spark, job):
    job.run(spark, attempt="7")
    assert job.seen() == ROWS
    attempts = parquet.read_table(job.folder / "read").column("_attempt").to_pylist()
    assert set(attempts) == {7}
    job.run(spark)
    assert (job.seen(), job.open()) == (ROWS, 0)


@ON_A_TABLE
def test_all_batches_of_a_run_are_under_one_claim_and_the_next_run_has_another(spark, job):
    job.run(spark)
    memory = job.kind(job.target).begun().writer.memory
    assert [memory.decision(batch).epoch for batch in range(3)] == [1, 1, 1]
    (job.folder / "input" / "3.csv").write_text("zoe,1\n")
    job.run(spark)
    assert memory.decision(3).epoch == 2


@pytest.mark.parametrize(
    ("job", "point"), further_but(IN_CI, product(STORES, POINTS)), indirect=["job"]
)
def test_a_process_killed_at_a_step_fails_the_query_and_the_next_is_exact(spark, job, armed, point):
    """The driver is alive, so Spark calls abort: a decided batch is kept, others are undone."""
    halted = halt_at(armed, point, 1)
    query = stream_by_format.start(spark, job.folder / "input", job.options)
    mark = wait_for(halted.reached, 60, f"{point} is not reached")
    os.kill(mark["pid"], signal.SIGKILL)
    halted.let_go()
    with pytest.raises(StreamingQueryException):
        query.awaitTermination(60)
    is_decided = POINTS.index(point) >= POINTS.index("decided")
    if point != "pre_committed":  # its task has returned no result, so the next run settles
        assert (job.seen(), job.open()) == (ROWS[: 8 if is_decided else 4], 0)
    job.run(spark)
    assert (job.seen(), job.open()) == (ROWS, 0)


@pytest.mark.parametrize("job", ["table"], indirect=True)
def test_a_driver_that_is_killed_when_it_has_decided_goes_on_exactly(job, armed, spark):
    """Without a driver abort is not called: prepared parts remain until the next run."""
    halted = halt_at(armed, "decided", 1)
    environment = {**os.environ, FOLDER: str(armed)}
    driver = subprocess.Popen(job.command(), env=environment, start_new_session=True)
    try:
        mark = wait_for(halted.reached, 90, "the step is not reached")
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait(30)
    if commit := Identity.of(mark["pid"]):
        commit.send(signal.SIGKILL)
        wait_for(lambda: not commit.is_alive, 30, "the killed process is still alive")
    halted.let_go()
    assert (job.seen(), job.open()) == (ROWS[:4], 2)
    job.run(spark)
    assert (job.seen(), job.open()) == (ROWS, 0)


@ON_A_TABLE
def test_a_batch_that_is_decided_is_not_written_again(spark, job, armed):
    job.run(spark)
    for name in ("2", ".2.crc"):
        (job.folder / "checkpoint" / "commits" / name).unlink()
    begun = halt_at(armed, "task_begin", 0)
    begun.let_go()
    job.run(spark)
    assert begun.reached() is None
    assert (job.seen(), job.open()) == (ROWS, 0)


def test_a_run_that_was_superseded_stops_and_never_claims_again(spark, job, armed):
    """A recovery claims the writer while it is halted between the pre-commit and the decision."""
    halted = halt_at(armed, "all_pre_committed", 1)
    query = stream_by_format.start(spark, job.folder / "input", job.options)
    wait_for(halted.reached, 60, "it is not reached")
    job.kind(job.target).recover()
    halted.let_go()
    with pytest.raises(StreamingQueryException, match=re.escape(MESSAGES["claimed"])):
        query.awaitTermination(60)
    batches = Batches.of(job.kind.__module__.rpartition(".")[2], job.target)
    with pytest.raises(SupersededError, match=re.escape(MESSAGES["superseded"])):
        batches._shared().join(str(query.runId), batches.before)
    assert (job.seen(), job.open()) == (ROWS[:4], 0)
    job.run(spark)
    assert job.seen() == ROWS


@ON_A_TABLE
def test_a_lost_checkpoint_is_refused(spark, job):
    job.run(spark)
    with pytest.raises(StreamingQueryException, match=re.escape(MESSAGES["lost checkpoint"])):
        job.run(spark, checkpointLocation=str(job.folder / "another"))
    assert (job.seen(), job.open()) == (ROWS, 0)


@ON_A_TABLE
def test_two_writers_of_one_target_do_not_settle_each_others_parts(spark, job):
    job.run(spark)
    job.run(spark, writer="other", checkpointLocation=str(job.folder / "another"))
    assert job.seen() == sorted(ROWS * 2)
    job.kind(replace(job.target, writer="other")).drop()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"store": "kafka"}, "store.*'kafka'.*files, table"),
        ({"address": ""}, "address.*postgresql"),
        ({"nmae": "x"}, "'nmae'.*'name'"),
        ({"attempt": "0"}, "attempt.*'0'"),
        ({"writer": "a:b"}, "'a:b'"),
    ],
)
def test_an_invalid_option_is_named_before_anything_is_written(spark, job, wrong, named):
    with pytest.raises(StreamingQueryException, match=named):
        job.run(spark, **wrong)


def endless(spark):
    return spark.readStream.format("rate").load().selectExpr("'ann' as name", "value as views")


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("update", "onceproof_two_phase does not support Update mode"),
        ("complete", "onceproof_two_phase supports append mode only"),
    ],
)
def test_other_modes_than_append_are_rejected(spark, job, mode, message):
    """Spark raises the first message itself, before it calls the data source."""
    rows = endless(spark).groupBy("name").sum("views").toDF("name", "views")
    query = stream_by_format.written(rows, job.options, mode, processingTime="0 seconds")
    with pytest.raises(StreamingQueryException, match=message):
        query.awaitTermination(60)


@ON_A_TABLE
def test_with_a_continuous_trigger_no_epoch_is_committed(spark, job):
    """Spark passes no rows to a task, only logs the error of a commit, and continues."""
    query = stream_by_format.written(endless(spark), job.options, "append", continuous="1 second")
    offsets = job.folder / "checkpoint" / "offsets"
    wait_for(lambda: (offsets / "1").exists(), 60, "no second epoch was begun")
    query.stop()
    commits = job.folder / "checkpoint" / "commits"
    assert [one.name for one in commits.glob("[0-9]*")] == []
    assert (job.seen(), job.open()) == ([], 0)
