"""Sinks in plain jobs without a test run: a crash of the driver at each point, and a restart."""

import os
from collections import Counter
from dataclasses import replace

import pyarrow.parquet as parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from onceproof.machine.home import onceproof_home
from onceproof.sinks import Target, find_sink
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.further import further_but

pytestmark = [pytest.mark.stack, pytest.mark.spark]
COLUMNS = {"name": "string", "views": "bigint"}
# The model covers all of them, and so does `make prove PART=crash_points`.
PUT = ["write_half", "written"]
DECIDED = ["all_pre_committed", "decided", "commit_half"]
APPLIED = ["staged", "apply_half", "marked"]
POINTS = {
    "upsert_table": PUT,
    "batch_folder": PUT,
    "two_phase_table": DECIDED,
    "two_phase_files": DECIDED,
    "wal_table": [*APPLIED, "applied_unmarked"],
    "wal_table_atomic": APPLIED,
    "two_phase_topic": ["all_pre_committed", "commit_half"],
    "wal_topic": ["applied_unmarked"],
}
CRASHES = [(name, point) for name, points in POINTS.items() for point in points]
# One of each sink; two_phase_topic, at another step: tests/system/test_pytest_suite.py.
IN_CI = [
    *(("upsert_table", "write_half"), ("batch_folder", "written")),
    *(("two_phase_table", "decided"), ("two_phase_files", "commit_half")),
    *(("wal_table", "apply_half"), ("wal_table_atomic", "apply_half")),
    *(("two_phase_topic", "commit_half"), ("wal_topic", "applied_unmarked")),
]
IN_COMPLETE_MODE = [
    ("upsert_table", "write_half"),
    ("batch_folder", "written"),
    ("two_phase_table", "commit_half"),
    ("two_phase_files", "decided"),
    ("wal_table", "staged"),
    ("wal_table_atomic", "apply_half"),
]
MAY_REPEAT = [("wal_table", "apply_half"), ("wal_table", "applied_unmarked")]
MAY_REPEAT += [("wal_topic", "applied_unmarked")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        yield session


@pytest.fixture
def target(tmp_path, stack):
    (tmp_path / "input").mkdir()
    for batch in range(3):
        lines = [f"{name}\n" for name in ("ann", "ben", "eve", f"only {batch}")]
        path = tmp_path / "input" / f"{batch}.csv"
        path.write_text("".join(lines))
        os.utime(path, (batch, batch))  # Spark reads the oldest file first
    made = Target(
        stack.members["store"].address,
        "run_in_jobs.output",
        COLUMNS,
        ("name",),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    yield made
    assert left(tmp_path) == []


def target_of(name, target, tmp_path, stack):
    """Return the target for a sink of files or of topics."""
    if find_sink(name).store == "postgresql":
        return target
    if find_sink(name).store == "kafka":
        return replace(target, address=stack.brokers.bootstrap)
    return replace(target, address=str(tmp_path), name="output")


def left(tmp_path):
    """Return the staged files: all files beside data/ that are not decisions."""
    root = tmp_path / "output"
    return [
        name
        for at, _, names in os.walk(root)
        for name in names
        if not at.startswith(str(root / "data")) and not name.endswith(".json")
    ]


def views(spark, tmp_path):
    """Return a stream of the changed counts per batch: four names, three of them repeatedly."""
    rows = spark.readStream.schema("name string").option("maxFilesPerTrigger", 1)
    return rows.csv(str(tmp_path / "input")).groupBy("name").agg(F.count("*").alias("views"))


def run(target, attempt, name, rows, mode="update"):
    sink = find_sink(name)(replace(target, attempt=attempt))
    sink.prepare()
    started = rows.writeStream.foreachBatch(sink.write).outputMode(mode)
    query = started.option("checkpointLocation", target.checkpoint).trigger(availableNow=True)
    query.start().awaitTermination(120)
    sink.recover()
    return sink


def seen(sink, tmp_path):
    sink.read(tmp_path / "read")
    found = parquet.read_table(tmp_path / "read").to_pylist()
    return sorted((row["_batch"], row["name"], row["views"]) for row in found)


EXPECTED = sorted(
    (batch, name, views)
    for batch in range(3)
    for name, views in [
        *((name, batch + 1) for name in ("ann", "ben", "eve")),
        (f"only {batch}", 1),
    ]
)


NEWEST = sorted({name: (batch, name, views) for batch, name, views in EXPECTED}.values())


CRASH = "planted crash of the driver"


def die_at(point, monkeypatch):
    """Crash the driver when it first reaches a step of batch 1."""
    crashed = []

    def reached(step, batch, **_):
        if (step, batch) == (point, 1) and not crashed:
            crashed.append(step)
            raise OSError(CRASH)

    monkeypatch.setattr("onceproof.failpoints.reached", reached)
    monkeypatch.setattr(
        "onceproof.failpoints.is_armed",
        lambda *step: step == ("write_half", 1) and point == "write_half",
    )


@pytest.mark.parametrize(("name", "point"), further_but(IN_CI, CRASHES))
def test_a_job_that_crashes_at_a_point_goes_on_exactly(
    spark, target, tmp_path, monkeypatch, name, point, stack
):
    die_at(point, monkeypatch)
    target = target_of(name, target, tmp_path, stack)
    with pytest.raises(StreamingQueryException, match=CRASH):
        run(target, 1, name, views(spark, tmp_path))
    sink = run(target, 2, name, views(spark, tmp_path))
    found = seen(sink, tmp_path)
    open_at_the_end = sink.open()
    sink.drop()
    assert open_at_the_end == (0, 0)
    if name == "upsert_table":
        assert found == NEWEST
    elif (name, point) in MAY_REPEAT:
        assert set(found) == set(EXPECTED)
        assert {batch for batch, *_ in (Counter(found) - Counter(EXPECTED))} == {1}
    else:
        assert found == EXPECTED


def whole(batch):
    """Return all counts after a batch, which complete mode writes with it."""
    again = [(batch, name, batch + 1) for name in ("ann", "ben", "eve")]
    return again + [(batch, f"only {of}", 1) for of in range(batch + 1)]


# In CI one that upserts, one that decides and one that applies a log.
@pytest.mark.parametrize(
    ("name", "point"), further_but([IN_COMPLETE_MODE[at] for at in (0, 2, 5)], IN_COMPLETE_MODE)
)
def test_in_complete_mode_the_newest_batch_is_the_whole_result(
    spark, target, tmp_path, monkeypatch, name, point, stack
):
    target, rows = target_of(name, target, tmp_path, stack), views(spark, tmp_path)
    die_at(point, monkeypatch)
    with pytest.raises(StreamingQueryException, match=CRASH):
        run(target, 1, name, rows, "complete")
    sink = run(target, 2, name, rows, "complete")
    found = seen(sink, tmp_path)
    sink.drop()
    batches = [2] if name == "upsert_table" else range(3)
    assert found == sorted(row for batch in batches for row in whole(batch))


@pytest.mark.parametrize("name", ["batch_folder", "two_phase_files"])
def test_spark_reads_the_same_rows_as_readers_of_the_folder(spark, target, tmp_path, name, stack):
    run(target_of(name, target, tmp_path, stack), 1, name, views(spark, tmp_path))
    found = spark.read.parquet(str(tmp_path / "output/data")).select("_batch", "name", "views")
    assert sorted(map(tuple, found.collect())) == EXPECTED


def test_spark_reads_the_same_rows_as_readers_of_the_topic(spark, target, tmp_path, stack):
    sink = run(
        target_of("two_phase_topic", target, tmp_path, stack),
        *(1, "two_phase_topic", views(spark, tmp_path)),
    )
    read = spark.read.format("kafka").option("kafka.isolation.level", "read_committed")
    read = read.option("kafka.bootstrap.servers", sink.target.address).option(
        "subscribe", sink.target.name
    )
    value = F.from_json(F.col("value").cast("string"), "name string, views bigint").alias("row")
    batch = F.expr("cast(cast(headers[0].value as string) as int)")
    found = read.option("includeHeaders", "true").load().select(batch, value)
    rows = sorted((one[0], one.row.name, one.row.views) for one in found.collect())
    sink.drop()
    assert rows == EXPECTED
