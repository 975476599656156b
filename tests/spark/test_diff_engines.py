"""Both engines find the same differences: those that a naive comparison finds."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceproof.comparison import compare
from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.further import further_but
from tests.unit.comparison import pairs
from tests.unit.comparison.cases import tally
from tests.unit.comparison.oracle import CLASSES, differences
from tests.unit.comparison.sides import parquet

pytestmark = pytest.mark.spark
PAIRS = 1000


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder, more = tmp_path_factory.mktemp("spark"), {"spark.sql.session.timeZone": "Asia/Tokyo"}
    more |= {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder, more) as session:
        yield session


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    for name, table in zip("eo", pairs.tables(PAIRS), strict=True):
        pq.write_table(table, folder / f"{name}.parquet")
    return folder / "e.parquet", folder / "o.parquet"


def both(sides, spark, folder, **options):
    """Return the result of each engine, with the details that it wrote."""
    found = {}
    for engine in ("duckdb", "spark"):
        target = folder / engine
        options |= {"write_to": target, "write_of_each": 10**6}
        answer = compare(*sides, engine=engine, spark=spark, samples=3, **options)
        found[engine] = answer, pq.read_table(target / "differences.parquet")
    return found


def test_a_thousand_pairs_are_compared_alike_by_both_engines_and_the_oracle(spark, sides, tmp_path):
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


def test_few_differences_among_many_rows_are_found_alike(spark, tmp_path):
    rows = [{"id": n, "v": f"v{n}"} for n in range(20_000)]
    spoilt = [*rows[2:], rows[7], {"id": -1, "v": None}, {"id": 1, "v": "other"}]
    tables = [pa.Table.from_pylist(one) for one in (rows, spoilt)]
    places = [tmp_path / f"{name}.parquet" for name in "eo"]
    for table, place in zip(tables, places, strict=True):
        pq.write_table(table, place)
    (ours, details), (theirs, others) = both(places, spark, tmp_path, key=["id"]).values()
    assert dict(ours.counts) == dict(theirs.counts) == dict.fromkeys(CLASSES, 1)
    assert (ours.samples, details.to_pylist()) == (theirs.samples, others.to_pylist())


def test_whole_rows_are_compared_alike(spark, sides, tmp_path):
    found = both(sides, spark, tmp_path)
    (ours, _), (theirs, _) = found.values()
    frames = [pairs.frame(pq.read_table(side)) for side in sides]
    truth = differences(*frames, list(frames[0].columns))
    totals = {one: sum(key[one] for key in truth.values()) for one in CLASSES}
    assert dict(ours.counts) == dict(theirs.counts) == totals


def test_tolerances_are_applied_alike(spark, sides, tmp_path):
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
    with pytest.raises(RequestError, match="DataFrames"):
        compare(ours, theirs)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("o.csv", "id\n1\n", "is not parquet"),
        ("o.parquet", "torn", "cannot be compared"),
        ("missing", None, "it has no parquet"),
    ],
)
def test_unreadable_sides_are_refused(spark, tmp_path, name, text, words):
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


def alike(spark, *sides, **options):
    """Return the result of both engines, which must be equal: the differences, or "refused"."""
    found = []
    for engine in ("duckdb", "spark"):
        try:
            counts = compare(
                *sides, engine=engine, spark=spark, **({"key": ["id"]} | options)
            ).counts
            found.append({one: count for one, count in counts.items() if count})
        except RequestError:
            found.append("refused")
    assert found[0] == found[1]
    return found[0]


def write(path, columns, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_random_cases_are_compared_as_by_the_oracle(spark, tmp_path):
    """`make prove PART=fuzz_diff` has an hour of them."""
    found = tally(range(1000, 1005), tmp_path, engine="spark", spark=spark)
    assert found["compared"] > 2


def test_folders_are_columns_alike_and_only_below_the_named_one(spark, tmp_path):
    root = tmp_path / "region=eu" / "id=9" / "a[1] {b}"
    for side, day in (("e", "1"), ("o", "2")):
        write(root / side / "k=a%2Fb/x.parquet", {"id": [1], "region": ["us"]})
        write(root / side / f"k={day}/x.parquet", {"id": [2], "region": ["us"]})
    assert alike(spark, root / "e", root / "e") == {}
    assert alike(spark, root / "e", root / "o") == {"changed": 1}
    one = root / "e/k=1/x.parquet"
    assert alike(spark, one, root / "e/k=1") == {}
    assert alike(spark, one, root / "e") == "refused"


OF_FOLDERS = [
    ("1", "2", {"changed": 1}),
    ("01", "1", "refused"),
    ("1.5", "1.50", {"changed": 1}),
    ("2024-01-01", "2024-01-02", {"changed": 1}),
    ("__HIVE_DEFAULT_PARTITION__", "1", {"changed": 1}),
    ("a%2Fb", "a%2fb", {}),
]


# The test above has numbers and an escaped name; a date is a text, as 1.5 is.
@pytest.mark.parametrize(
    ("ours", "theirs", "found"), further_but([OF_FOLDERS[at] for at in (1, 2, 4)], OF_FOLDERS)
)
def test_values_of_folders_are_read_alike(spark, tmp_path, ours, theirs, found):
    for side, value in (("e", ours), ("o", theirs)):
        write(tmp_path / side / f"k={value}/a.parquet", {"id": [1]})
    assert alike(spark, tmp_path / "e", tmp_path / "o") == found


@pytest.mark.parametrize("name", ["k", "K"])
def test_a_column_in_file_and_folder_is_refused_alike(spark, tmp_path, name):
    write(tmp_path / f"o/{name}=1/a.parquet", {"id": [1], "k": [2]})
    assert alike(spark, tmp_path / "o", tmp_path / "o") == "refused"
    remote = (tmp_path / "o").as_uri()
    with pytest.raises(RequestError, match=r"\bk\b"):
        compare(remote, remote, key=["id"], engine="spark", spark=spark)


def test_files_below_folders_and_of_any_case_are_read_alike(spark, tmp_path):
    write(tmp_path / "e/a.parquet", {"id": [1]})
    write(tmp_path / "o/a.parquet", {"id": [1]})
    write(tmp_path / "o/below/b.PARQUET", {"id": [2]})
    assert alike(spark, tmp_path / "e", tmp_path / "o") == {"unexpected": 1}
    remote = (tmp_path / "o").as_uri()
    with pytest.raises(RequestError, match="below"):
        compare(remote, remote, key=["id"], engine="spark", spark=spark)
    (tmp_path / "o/part-7").write_bytes(b"")
    assert alike(spark, tmp_path / "e", tmp_path / "o") == "refused"


def test_int96_is_an_instant_alike_and_its_nanoseconds_are_refused(spark, tmp_path):
    at = pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))
    inner = pa.StructArray.from_arrays([at], ["ts"])
    old = {"use_deprecated_int96_timestamps": True}
    e = write(tmp_path / "e.parquet", {"id": [1], "ts": ["x"], "s": inner}, **old)
    o = write(tmp_path / "o.parquet", {"id": [1], "ts": ["x"], "s": inner})
    assert alike(spark, e, o) == {}
    for nested in (False, True):
        fine = pa.array([1001], pa.timestamp("ns", "UTC"))
        column = pa.StructArray.from_arrays([fine], ["ts"]) if nested else fine
        e = write(tmp_path / "n.parquet", {"id": [1], "a": column}, **old)
        assert alike(spark, e, e) == "refused"
        assert alike(spark, e, e, ignore=["a"]) == {}


def test_types_that_neither_engine_supports_are_refused_alike(spark, tmp_path):
    digits = pa.array([Decimal("1" * 50)], pa.decimal256(60, 0))
    wide = write(tmp_path / "d.parquet", {"id": [1], "a": digits})
    assert alike(spark, wide, wide) == "refused"
    both_cases = write(tmp_path / "c.parquet", {"id": [1], "a": [1], "A": [2]})
    assert alike(spark, both_cases, both_cases) == "refused"
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    e = write(tmp_path / "e.parquet", {"id": [1], "a": text})
    o = write(tmp_path / "o.parquet", {"id": [1], "a": ["a"]})
    assert alike(spark, e, o) == "refused"
