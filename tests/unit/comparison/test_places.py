"""What can be a side: files, folders, patterns, with types or without."""

import datetime as dt
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceproof.comparison import compare
from onceproof.errors import RequestError
from tests.unit.comparison.sides import parquet


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def differences(expected, observed, **options):
    found = compare(expected, observed, key=["id"], **options)
    return {one: count for one, count in found.counts.items() if count}


def test_two_csv_sides_are_compared_as_text(tmp_path):
    expected = write(tmp_path, "e.csv", "id,v\n1,1.0\n2,x\n3,\n")
    observed = write(tmp_path, "o.csv", 'v,id\n1,1\nx,2\n"",3\n')
    assert differences(expected, observed) == {"changed": 2}


def test_no_line_of_a_csv_is_taken_for_a_comment_or_a_number(tmp_path):
    expected = write(tmp_path, "e.csv", 'id,v\n#1,"a,""b"\n01," c"\n')
    observed = write(tmp_path, "o.csv", "id,v\n1, c\n")
    found = compare(expected, observed, key=["id"])
    assert (found.rows["expected"], found.counts["lost"], found.counts["unexpected"]) == (2, 2, 1)


def test_a_csv_side_takes_the_types_of_the_other(tmp_path):
    at = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    columns = {"id": [1, 2], "v": [1.5, None], "at": [at, None], "ok": [True, False]}
    typed = parquet(tmp_path, "e", columns)
    text = "ok,id,v,at\ntrue,1,1.50,2024-01-01T12:00:00Z\nfalse,2,,\n"
    assert differences(typed, write(tmp_path, "o.csv", text)) == {}
    assert differences(write(tmp_path, "o.csv", text), typed) == {}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.int64(), "1.5"),
        (pa.int64(), "1e3"),
        (pa.decimal128(10, 2), "1.999"),
        (pa.date32(), "2024-01-01 10:00"),
        (pa.timestamp("us"), "2024-01-01 10:00:00.1234567"),
        (pa.bool_(), "1"),
        (pa.float64(), "x"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_text_that_a_type_would_bend_is_an_error(tmp_path, kind, text, form):
    typed = parquet(tmp_path, "e", {"id": [1], "v": [None]}, v=kind)
    lines = {"csv": f"id,v\n1,{text}\n", "jsonl": f'{{"id": 1, "v": "{text}"}}\n'}
    with pytest.raises(RequestError, match="cannot"):
        differences(typed, write(tmp_path, f"o.{form}", lines[form]))


def test_json_text_stays_text_whatever_it_looks_like(tmp_path):
    expected = write(tmp_path, "e.jsonl", '{"id": 1, "v": "2024-01-01", "w": {"u": "AB"}}\n')
    observed = write(tmp_path, "o.jsonl", '{"w": {"u": "AB"}, "v": "2024-1-1", "id": 1}\n')
    assert differences(expected, observed) == {"changed": 1}
    assert differences(expected, expected) == {}


def test_json_sides_have_the_types_that_fit_both(tmp_path):
    expected = write(tmp_path, "e.jsonl", '{"id": 1, "v": 1}\n{"id": 2, "v": null}\n')
    observed = write(tmp_path, "o.jsonl", '{"id": 1, "v": 1.0}\n{"id": 2, "v": 0.5}\n')
    assert differences(expected, observed) == {"changed": 1}


def test_json_lines_without_a_line_are_an_empty_side(tmp_path):
    typed = parquet(tmp_path, "e", {"id": [1, 2]})
    nothing = write(tmp_path, "o.jsonl", "")
    assert differences(typed, nothing) == {"lost": 2}
    assert differences(write(tmp_path, "e.jsonl", '{"id": 1}\n'), nothing) == {"lost": 1}
    assert differences(nothing, write(tmp_path, "e.csv", "id\n1\n")) == {"unexpected": 1}
    with pytest.raises(RequestError, match="neither"):
        differences(nothing, nothing)


def test_the_side_that_is_broken_is_blamed(tmp_path):
    good, torn = write(tmp_path, "e.jsonl", '{"id": 1}\n'), write(tmp_path, "o.jsonl", '{"id"\n')
    with pytest.raises(RequestError, match=r"\bobserved\b"):
        differences(good, torn)
    with pytest.raises(RequestError, match=r"\bexpected\b"):
        differences(torn, good)


def test_a_column_of_nulls_is_of_every_type(tmp_path):
    expected = parquet(tmp_path, "e", {"id": [1], "v": [None], "l": [[None]]})
    observed = parquet(tmp_path, "o", {"id": [1], "v": [b"x"], "l": [[1]]})
    assert differences(expected, observed) == {"changed": 1}
    assert differences(expected, expected) == {}


def test_a_folder_is_its_files_but_for_what_spark_marks(tmp_path):
    for name, ids in (("a", [1]), ("b/c", [2]), ("_temporary/d", [3]), (".e", [4])):
        (tmp_path / "side" / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": ids}), tmp_path / "side" / f"{name}.parquet")
    (tmp_path / "side" / "_SUCCESS").touch()
    expected = parquet(tmp_path, "e", {"id": [1, 2]})
    assert differences(expected, tmp_path / "side") == {}
    assert differences(expected, str(tmp_path / "side/**/[a-c].parquet")) == {}


def test_partitions_of_a_folder_are_columns(tmp_path):
    for day in (1, 2):
        (tmp_path / f"side/day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [day]}), tmp_path / f"side/day={day}/p.parquet")
    expected = parquet(tmp_path, "e", {"id": [1, 2], "day": [1, 2]})
    assert differences(expected, tmp_path / "side") == {}


def test_names_of_files_are_no_patterns(tmp_path):
    folder = tmp_path / "a[1]*"
    folder.mkdir()
    side = parquet(folder, "x?y", {"id": [1]})
    assert differences(side, folder) == {}


def test_packed_files_are_read(tmp_path):
    with gzip.open(tmp_path / "o.csv.gz", "wt") as packed:
        packed.write("id\n1\n")
    assert differences(parquet(tmp_path, "e", {"id": [1]}), tmp_path / "o.csv.gz") == {}


def test_sparks_oldest_timestamps_are_instants(tmp_path):
    at = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]
    table = pa.table({"id": [1], "at": pa.array(at, pa.timestamp("us", "UTC"))})
    pq.write_table(table, tmp_path / "e.parquet")
    pq.write_table(table, tmp_path / "o.parquet", use_deprecated_int96_timestamps=True)
    assert differences(tmp_path / "e.parquet", tmp_path / "o.parquet") == {}


def broken(folder, name):
    side = folder / name
    if name == "mixed":
        side.mkdir()
        write(side, "a.csv", "id\n1\n")
        write(side, "b.jsonl", '{"id": 1}\n')
    elif name == "stream":
        (side / "_spark_metadata").mkdir(parents=True)
        parquet(side, "a", {"id": [1]})
    elif name == "none":
        side.mkdir()
    elif name != "missing.parquet":
        write(folder, name, {"torn.csv": "id,v\n1,2\n3\n", "empty.csv": ""}.get(name, "id\n1\n{"))
    return side


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.parquet", "it has no parquet, CSV or JSON lines file"),
        ("none", "it has no parquet, CSV or JSON lines file"),
        ("mixed", "another format"),
        ("rows.xlsx", "another format"),
        ("empty.csv", "it has no header line"),
        ("torn.csv", "cannot be read"),
        ("torn.parquet", "cannot be read"),
        ("torn.jsonl", "cannot be read"),
        ("stream", "use --engine spark"),
    ],
)
def test_a_side_that_cannot_be_read_is_named(tmp_path, name, words):
    good = parquet(tmp_path, "good", {"id": [1]})
    with pytest.raises(RequestError, match=rf"{name}.*{words}|{words}"):
        differences(good, broken(tmp_path, name))
    with pytest.raises(RequestError, match=r"\bexpected\b"):
        differences(tmp_path / name, good)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": ["x"]}, "--key: unknown column 'x'; choose one of id, v, w"),
        ({"ignore": ["x"]}, "--ignore: unknown column 'x'"),
        ({"key": ["id"]}, "column w is only in the observed side; .* --ignore w"),
        ({"key": ["id"], "ignore": ["id", "w"]}, "both in the key and ignored"),
        ({"ignore": ["id", "v", "w"]}, "no column is left"),
        ({"ignore": ["w"], "memory": "5MB"}, "memory 5MB is out of range"),
        ({"ignore": ["w"], "memory": "lots"}, "invalid memory 'lots'"),
        ({"ignore": ["w"], "engine": "polars"}, "unknown engine 'polars'"),
    ],
)
def test_a_wrong_request_is_one_sentence(tmp_path, options, words):
    expected = parquet(tmp_path, "e", {"id": [1], "v": [1]})
    observed = parquet(tmp_path, "o", {"id": [1], "v": [1], "w": [1]})
    with pytest.raises(RequestError, match=words):
        compare(expected, observed, **options)


def test_a_type_that_is_not_compared_is_refused_by_name(tmp_path):
    side = parquet(tmp_path, "e", {"id": [1], "v": [dt.timedelta(1)]})
    other = tmp_path / "o.parquet"
    import duckdb

    duckdb.sql("select 1::bigint as id, interval 1 day as v").write_parquet(str(other))
    with pytest.raises(RequestError, match=r"\bv\b.*INTERVAL"):
        differences(other, other)
    assert differences(side, other, ignore=["v"]) == {}
