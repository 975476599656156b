"""Both engines find the same differences: those that a naive comparison finds."""

import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceproof.errors import RequestError
from onceproof.judge import compare
from tests.unit.judge import pairs
from tests.unit.judge.oracle import CLASSES, differences
from tests.unit.judge.sides import parquet

pytestmark = pytest.mark.spark
PAIRS = 1000


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "Asia/Tokyo")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Djava.io.tmpdir={folder}")
        .getOrCreate()
    )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    for name, table in zip("eo", pairs.tables(PAIRS), strict=True):
        pq.write_table(table, folder / f"{name}.parquet")
    return folder / "e.parquet", folder / "o.parquet"


def both(sides, spark, folder, **options):
    """What each engine finds: its answer, and its details written."""
    found = {}
    for engine in ("duckdb", "spark"):
        target = folder / engine
        options |= {"write_to": target, "write_of_each": 10**6}
        answer = compare(*sides, engine=engine, spark=spark, samples=3, **options)
        found[engine] = answer, pq.read_table(target / "differences.parquet")
    return found


def test_a_thousand_pairs_are_judged_alike_by_both_engines_and_the_oracle(spark, sides, tmp_path):
    found = both(sides, spark, tmp_path, key=pairs.KEY)
    truth = differences(*(pairs.frame(pq.read_table(side)) for side in sides), pairs.KEY)
    totals = {one: sum(key[one] for key in truth.values()) for one in CLASSES}
    for answer, details in found.values():
        assert dict(answer.counts) == totals
        assert pairs.by_key(details) == truth
    (ours, _), (theirs, _) = found.values()
    assert ours.document() | {"engine": "", "seconds": 0} == theirs.document() | {
        "engine": "",
        "seconds": 0,
    }


def test_few_differences_among_many_rows_are_judged_alike(spark, tmp_path):
    rows = [{"id": n, "v": f"v{n}"} for n in range(20_000)]
    spoilt = [*rows[2:], rows[7], {"id": -1, "v": None}, {"id": 1, "v": "other"}]
    tables = [pa.Table.from_pylist(one) for one in (rows, spoilt)]
    places = [tmp_path / f"{name}.parquet" for name in "eo"]
    for table, place in zip(tables, places, strict=True):
        pq.write_table(table, place)
    (ours, details), (theirs, others) = both(places, spark, tmp_path, key=["id"]).values()
    assert dict(ours.counts) == dict(theirs.counts) == dict.fromkeys(CLASSES, 1)
    assert (ours.samples, details.to_pylist()) == (theirs.samples, others.to_pylist())


def test_whole_rows_are_judged_alike(spark, sides, tmp_path):
    found = both(sides, spark, tmp_path)
    (ours, _), (theirs, _) = found.values()
    frames = [pairs.frame(pq.read_table(side)) for side in sides]
    truth = differences(*frames, list(frames[0].columns))
    totals = {one: sum(key[one] for key in truth.values()) for one in CLASSES}
    assert dict(ours.counts) == dict(theirs.counts) == totals


def test_tolerances_are_judged_alike(spark, sides, tmp_path):
    near = {"number": 1.5, "amount": 0.01}
    found = both(sides, spark, tmp_path, key=pairs.KEY, tolerance=near)
    (ours, details), (theirs, others) = found.values()
    assert dict(ours.counts) == dict(theirs.counts)
    assert pairs.by_key(details) == pairs.by_key(others)
    frames = [pairs.frame(pq.read_table(side)) for side in sides]
    assert pairs.by_key(details) == differences(*frames, pairs.KEY, near)


def test_a_chain_of_near_values_is_no_equality_on_either_engine(spark, tmp_path):
    ours = parquet(tmp_path, "e", {"id": [1, 1, 1], "n": [0, 1, 2]}, n=pa.int64())
    theirs = parquet(tmp_path, "o", {"id": [1, 1, 1], "n": [2, 2, 2]}, n=pa.int64())
    for engine in ("duckdb", "spark"):
        found = compare(ours, theirs, key=["id"], engine=engine, spark=spark, tolerance={"n": 1})
        assert not found.equal


def test_types_of_one_kind_are_equal_on_spark_too(spark, tmp_path):
    wide = pa.struct([("b", pa.string()), ("a", pa.int64())])
    narrow = pa.struct([("a", pa.int32()), ("b", pa.string())])
    expected = {"id": [1], "f": [0.5], "s": [{"a": 1, "b": "x"}], "n": [-1]}
    ours = parquet(tmp_path, "e", expected, f=pa.float32(), s=narrow, n=pa.int32())
    theirs = parquet(tmp_path, "o", expected, f=pa.float64(), s=wide, n=pa.int64())
    for engine in ("duckdb", "spark"):
        assert compare(ours, theirs, key=["id"], engine=engine, spark=spark).equal


def test_data_frames_are_sides(spark):
    ours = spark.createDataFrame([(1, None), (2, "b")], "id int, `odd ``name` string")
    theirs = ours.where("id = 1").union(ours.where("id = 1"))
    found = compare(ours, theirs, key=["id"], engine="spark", spark=spark)
    assert dict(found.counts) == dict(zip(CLASSES, (1, 1, 0, 0), strict=True))
    with pytest.raises(RequestError, match="the spark engine takes DataFrames"):
        compare(ours, theirs)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("o.csv", "id\n1\n", "is no parquet"),
        ("o.parquet", "torn", "cannot be compared"),
        ("missing", None, "there is no parquet"),
    ],
)
def test_what_spark_cannot_read_is_refused(spark, tmp_path, name, text, words):
    good = parquet(tmp_path, "e", {"id": [1]})
    if text:
        (tmp_path / name).write_text(text)
    with pytest.raises(RequestError, match=words):
        compare(good, tmp_path / name, engine="spark", spark=spark)


def test_a_stream_s_files_are_read_as_spark_reads_them(spark, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    ours = parquet(source, "a", {"id": [1, 2]})
    stream = spark.readStream.schema("id long").parquet(str(source)).writeStream
    stream = stream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    stream.start(str(tmp_path / "out"), format="parquet").awaitTermination(60)
    parquet(tmp_path / "out", "uncommitted", {"id": [3]})
    assert compare(ours, tmp_path / "out", key=["id"], engine="spark", spark=spark).equal
