"""Spark's own file sink, started as a query: its manifest, its restart, and its rejections."""

import datetime as dt
import re
import shutil
from dataclasses import replace

import pyarrow.parquet as parquet
import pytest
from pyspark.sql import functions as F

from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home
from onceproof.sinks import Target, find_sink
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools

pytestmark = pytest.mark.spark
COLUMNS = {"id": "bigint", "name": "string", "At Time": "timestamp"}
MOMENT = dt.datetime(1960, 2, 29, 23, 59, 59, 999999, tzinfo=dt.UTC)
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        yield session


@pytest.fixture
def target(tmp_path):
    (tmp_path / "input").mkdir()
    checkpoint = str(tmp_path / "checkpoint")
    made = Target(str(tmp_path), "output", COLUMNS, ("id",), attempt=1, checkpoint=checkpoint)
    sink(made).prepare()
    return made


MESSAGES = {
    "lost checkpoint": "has batch 1, but the newest batch that the checkpoint has planned is -1",
    "format": "is 2: with it a stateful query does not survive",
    "mode": "output mode update is not supported",
    "column": "the stream has no column name; it must have id, name",
}


def sink(target, attempt=1):
    return find_sink("spark_files")(replace(target, attempt=attempt))


def put(tmp_path, *ids):
    """Put a file into the input, which becomes a batch of its own."""
    for one in ids:
        (tmp_path / "input" / f"{one}.csv").write_text(f"{one},name {one}\n")


def stream(spark, tmp_path):
    rows = spark.readStream.schema("id bigint, name string").option("maxFilesPerTrigger", 1)
    moment = F.lit(MOMENT).alias("At Time")
    return rows.csv(str(tmp_path / "input")).select("id", "name", moment)


def run(one, rows):
    query = one.start(rows, "append", "0 seconds")
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def seen(one, folder):
    count, digest = one.read(folder)
    found = parquet.read_table(folder).to_pylist()
    assert (count, digest) == (len(found), one.read(folder)[1])
    return sorted(tuple(row.values()) for row in found)


def test_rows_are_read_back_with_their_batch_and_attempt_over_a_compaction(spark, target, tmp_path):
    one = sink(target)
    reader = one.reader()
    assert reader.look().rows.num_rows == 0
    put(tmp_path, *range(12))
    run(one, stream(spark, tmp_path))
    found = seen(one, tmp_path / "read")
    assert {row[:3] for row in found} == {(n, f"name {n}", MOMENT) for n in range(12)}
    assert sorted(row[3] for row in found) == list(range(12))
    assert {row[4] for row in found} == {1}
    looked = reader.look().rows
    assert (looked.num_rows, set(looked["batch"].to_pylist())) == (12, set(range(12)))
    assert reader.look().rows.num_rows == 0


def test_a_replayed_batch_is_there_once_and_files_of_the_first_attempt_are_not_read(
    spark, target, tmp_path
):
    put(tmp_path, 1, 2)
    run(sink(target), stream(spark, tmp_path))
    data = tmp_path / "output/data"
    (old,) = [
        path for path in data.glob("*.parquet") if parquet.read_table(path)["id"][0].as_py() == 2
    ]
    shutil.copy(old, data / "part-left-behind.parquet")  # a file of a crashed task
    for name in ("1", ".1.crc"):
        (tmp_path / "checkpoint/commits" / name).unlink()
    run(sink(target, 2), stream(spark, tmp_path))
    assert len(seen(sink(target), tmp_path / "read")) == 2


def test_a_checkpoint_without_the_batches_of_the_manifest_is_rejected(spark, target, tmp_path):
    put(tmp_path, 1, 2)
    run(sink(target), stream(spark, tmp_path))
    shutil.rmtree(tmp_path / "checkpoint")
    with pytest.raises(RequestError, match=re.escape(MESSAGES["lost checkpoint"])):
        sink(target, 2).start(stream(spark, tmp_path), "append", "0 seconds")


def counted(rows):
    timed = rows.withColumn("at", F.current_timestamp()).withWatermark("at", "1 second")
    windows = timed.groupBy(F.window("at", "1 second"), "name").agg(F.count("*").alias("id"))
    return windows.select("id", "name", F.col("window.end").alias("At Time"))


@pytest.mark.parametrize(
    "shape",
    [
        counted,
        lambda rows: rows.dropDuplicates(["id"]),
        lambda rows: rows.join(rows.select(F.col("id").alias("other")), F.expr("id = other")),
        lambda rows: rows.limit(3),
    ],
    ids=["windows", "duplicates", "join", "limit"],
)
def test_a_stateful_query_with_state_of_format_2_is_rejected(spark, target, tmp_path, shape):
    put(tmp_path, 1)
    spark.conf.set(FORMAT, "2")
    try:
        with pytest.raises(RequestError, match=re.escape(MESSAGES["format"])):
            sink(target).start(shape(stream(spark, tmp_path)), "append", "0 seconds")
        assert not (tmp_path / "checkpoint").exists()
        run(sink(target), stream(spark, tmp_path))  # without state, its format does not matter
    finally:
        spark.conf.unset(FORMAT)


def test_other_modes_and_foreach_batch_are_rejected(spark, target, tmp_path):
    with pytest.raises(RequestError, match=re.escape(MESSAGES["mode"])):
        sink(target).start(stream(spark, tmp_path), "update", "0 seconds")
    with pytest.raises(RequestError, match="foreachBatch"):
        sink(target).write(None, 0)
    with pytest.raises(RequestError, match=re.escape(MESSAGES["column"])):
        sink(target).start(stream(spark, tmp_path).drop("name"), "append", "0 seconds")
