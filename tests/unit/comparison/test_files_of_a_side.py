"""A side of several files: each has the columns of the first, or the side is refused."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceproof.comparison import compare
from onceproof.comparison.on_spark.frames import refuse_others_of
from onceproof.errors import RequestError
from tests.unit.comparison.sides import parquet


def folder_of(place, *tables):
    place.mkdir(parents=True)
    for number, table in enumerate(tables):
        pq.write_table(pa.table(table), place / f"part-{number}.parquet")
    return place


def lines_of(place, ending, *texts):
    place.mkdir()
    for number, text in enumerate(texts):
        (place / f"{number:02}.{ending}").write_text(text)
    return place


def differences(expected, observed, **options):
    found = compare(expected, observed, key=["id"], **options)
    return {one: count for one, count in found.counts.items() if count}


def column(value, kind):
    return {"id": [2], "v": pa.array([value], kind)}


@pytest.mark.parametrize(
    ("first", "later", "types"),
    [
        (pa.int64(), pa.float64(), r"\bv\b.*BIGINT.*part-0.*DOUBLE.*part-1"),
        (pa.float32(), pa.float64(), r"\bv\b.*FLOAT.*DOUBLE"),
        (pa.decimal128(9, 1), pa.decimal128(9, 2), r"DECIMAL\(9,1\).*DECIMAL\(9,2\)"),
        (pa.int64(), pa.string(), r"\bv\b.*BIGINT.*VARCHAR"),
        (pa.timestamp("us"), pa.timestamp("ns"), r"\bv\b.*TIMESTAMP\b.*TIMESTAMP_NS"),
        (pa.null(), pa.int64(), r'\bv\b.*"NULL".*BIGINT'),
    ],
)
def test_files_with_a_column_of_two_types_are_refused(tmp_path, first, later, types):
    side = folder_of(tmp_path / "side", column(None, first), column(None, later))
    good = parquet(tmp_path, "good", column(None, first))
    for places, name in (((good, side), "observed"), ((side, good), "expected")):
        with pytest.raises(RequestError, match=rf"\b{name}\b.*{types}"):
            differences(*places)


def test_a_value_of_a_later_file_is_not_bent_into_the_type_of_the_first(tmp_path):
    good = parquet(tmp_path, "good", {"id": [1, 2], "v": [1, 2]})
    side = folder_of(tmp_path / "side", {"id": [1], "v": [1]}, {"id": [2], "v": [1.7]})
    with pytest.raises(RequestError, match=r"\bv\b.*BIGINT"):
        differences(good, side)


@pytest.mark.parametrize("extra", [0, 1])
def test_a_column_that_one_file_has_and_another_has_not_is_refused(tmp_path, extra):
    good = parquet(tmp_path, "good", {"id": [1, 2]})
    tables = [{"id": [1]}, {"id": [2]}]
    tables[extra]["w"] = [5]
    side = folder_of(tmp_path / "side", *tables)
    files = rf"\bw\b.*part-{extra}\.parquet.*part-{1 - extra}\.parquet"
    with pytest.raises(RequestError, match=files):
        differences(good, side, ignore=[])


def test_a_column_that_only_the_folders_of_some_files_name_is_refused(tmp_path):
    side = folder_of(tmp_path / "side", {"id": [1]})
    folder_of(side / "day=2", {"id": [2]})
    with pytest.raises(RequestError, match=r"\bday\b.*day=2.*part-0"):
        differences(parquet(tmp_path, "good", {"id": [1, 2]}), side)


def test_files_may_differ_in_order_of_columns_width_of_integers_and_where_all_is_null(tmp_path):
    side = folder_of(
        tmp_path / "side",
        {"id": pa.array([1], pa.int32()), "v": ["a"]},
        {"v": ["b"], "id": pa.array([2], pa.int64())},
        {"id": pa.array([3], pa.int16()), "v": pa.nulls(1)},
    )
    good = parquet(tmp_path, "good", {"id": [1, 2, 3], "v": ["a", "b", None]})
    assert differences(good, side) == {}
    assert differences(side, good) == {}


def test_an_integer_that_the_first_file_s_type_cannot_hold_is_an_error(tmp_path):
    side = folder_of(tmp_path / "side", column(1, pa.int32()), column(2**40, pa.int64()))
    with pytest.raises(RequestError, match=r"\brange\b"):
        differences(parquet(tmp_path, "good", {"id": [2, 2], "v": [1, 2**40]}), side)


def test_nested_columns_of_two_types_are_refused(tmp_path):
    side = folder_of(tmp_path / "side", column({"a": 1}, None), column({"a": 1.5}, None))
    with pytest.raises(RequestError, match=r"\bv\b.*STRUCT\(a.BIGINT\).*DOUBLE"):
        differences(parquet(tmp_path, "good", column({"a": 1}, None)), side)


@pytest.mark.parametrize("texts", [("id\n1\n", "id,w\n2,5\n"), ("id,w\n1,5\n", "id\n2\n")])
def test_csv_files_with_other_headers_are_refused(tmp_path, texts):
    side = lines_of(tmp_path / "side", "csv", *texts)
    good = lines_of(tmp_path / "good", "csv", "id\n1\n", "", "id\n2\n")
    assert differences(good, good) == {}
    with pytest.raises(RequestError, match=r"\bw\b.*\.csv.*\.csv"):
        differences(good, side)


def test_csv_files_may_have_their_columns_in_any_order(tmp_path):
    side = lines_of(tmp_path / "side", "csv", "id,v\n1,a\n", "v,id\nb,2\n")
    good = lines_of(tmp_path / "good", "csv", "id,v\n1,a\n2,b\n")
    assert differences(good, side) == {}


def test_a_member_that_only_the_last_of_many_json_files_has_is_seen(tmp_path):
    texts = [f'{{"id": {number}}}\n' for number in range(40)]
    good = parquet(tmp_path, "good", {"id": list(range(40))})
    side = lines_of(tmp_path / "side", "jsonl", *texts[:-1], '{"id": 39, "w": 5}\n')
    with pytest.raises(RequestError, match=r"\bw\b.*\bobserved\b"):
        differences(good, side, memory="3GB")


class Frame:
    """A DataFrame, as far as it says which files it reads."""

    def __init__(self, *files):
        self.files = files

    def inputFiles(self):
        return list(self.files)


def test_spark_reads_no_files_of_this_machine_with_other_columns_than_the_first(tmp_path):
    side = folder_of(tmp_path / "a side", {"id": [1]}, {"id": [1], "w": [5]}, {"id": [2]})
    first, more, last = (
        (side / f"part-{number}.parquet").as_uri().replace("file:///", "file:/")
        for number in range(3)
    )
    refuse_others_of("observed", str(side), Frame(first, last))
    refuse_others_of("observed", str(side), Frame("s3a://lake/a.parquet", "s3a://lake/b.parquet"))
    with pytest.raises(RequestError, match=r"\bw\b.*side/part-1\.parquet"):
        refuse_others_of("observed", str(side), Frame(first, more))
