"""Sinks of files in jobs that have nothing to do with runs: each crash in the driver, restarted."""

import os
from dataclasses import replace

import pyarrow.parquet as parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from onceproof.home import onceproof_home
from onceproof.sinks import Target, find_sink
from onceproof.spark.session import spark_session
from onceproof.stacks.spark_setup import spark_tools

pytestmark = pytest.mark.spark
COLUMNS = {"name": "string", "views": "bigint"}
CRASHES = [
    *(("batch_folder", point) for point in ("write_half", "written", "sink_committed")),
    *(
        ("two_phase_files", point)
        for point in ("all_pre_committed", "decided", "commit_half", "committed", "sink_committed")
    ),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        yield session


@pytest.fixture
def target(tmp_path):
    (tmp_path / "input").mkdir()
    for batch in range(3):
        lines = [f"{name}\n" for name in ("ann", "ben", "eve", f"only {batch}")]
        (tmp_path / "input" / f"{batch}.csv").write_text("".join(lines))
    made = Target(
        str(tmp_path), "output", COLUMNS, ("name",), checkpoint=str(tmp_path / "checkpoint")
    )
    yield made
    assert left(tmp_path) == []


def left(tmp_path):
    """What is staged: every file beside data/ that is no decision."""
    root = tmp_path / "output"
    return [
        name
        for at, _, names in os.walk(root)
        for name in names
        if not at.startswith(str(root / "data")) and not name.endswith(".json")
    ]


def views(spark, tmp_path):
    """In each batch the counts that have changed: four names, three of them again and again."""
    rows = spark.readStream.schema("name string").option("maxFilesPerTrigger", 1)
    return rows.csv(str(tmp_path / "input")).groupBy("name").agg(F.count("*").alias("views"))


def run(target, attempt, name, rows):
    sink = find_sink(name)(replace(target, attempt=attempt))
    sink.prepare()
    started = rows.writeStream.foreachBatch(sink.write).outputMode("update")
    query = started.option("checkpointLocation", target.checkpoint).trigger(availableNow=True)
    query.start().awaitTermination(120)
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


@pytest.mark.parametrize(("name", "point"), CRASHES)
def test_a_job_that_dies_at_a_point_goes_on_exactly(
    spark, target, tmp_path, monkeypatch, name, point
):
    crashed = []

    def reached(step, batch, **_):
        if (step, batch) == (point, 1) and not crashed:
            crashed.append(step)
            raise OSError("the driver dies here")

    monkeypatch.setattr("onceproof.failpoints.reached", reached)
    with pytest.raises(StreamingQueryException, match="the driver dies here"):
        run(target, 1, name, views(spark, tmp_path))
    sink = run(target, 2, name, views(spark, tmp_path))
    assert seen(sink, tmp_path) == EXPECTED


@pytest.mark.parametrize("name", ["batch_folder", "two_phase_files"])
def test_spark_reads_what_readers_of_the_folder_see(spark, target, tmp_path, name):
    run(target, 1, name, views(spark, tmp_path))
    found = spark.read.parquet(str(tmp_path / "output/data")).select("_batch", "name", "views")
    assert sorted(map(tuple, found.collect())) == EXPECTED
