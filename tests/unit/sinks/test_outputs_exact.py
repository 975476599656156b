"""Values of an output are read exactly: a type holds a value without loss, or rejects it."""

import datetime as dt
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import StackError
from onceproof.sinks import Target, find_sink
from onceproof.sinks.exact_cells import batch_of
from onceproof.sinks.tables.casts import casting

MESSAGES = {
    "json": "a.json has a value that does not fit its column: column v has ",
    "function": "m:f has a value that does not fit its column: column v has ",
    "no column": "no column v; its columns are order_id",
    "twice": "column v is in the file and in the names of its folders",
    "other file": "output has part-00001, which is not a .parquet file",
}
COLUMNS = {"order_id": "string", "v": "bigint"}
NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


@pytest.fixture
def target(tmp_path):
    (tmp_path / "output").mkdir()
    return Target(str(tmp_path), "output", COLUMNS, ("order_id",))


def of_kind(target, kind):
    return replace(target, columns=COLUMNS | {"v": kind})


def seen(name, target):
    folder = Path(target.address, "seen")
    find_sink(name, target.options)(target).read(folder)
    return parquet.read_table(folder).column("v").to_pylist()


def of_parquet(target, kind, values, inner=None):
    array = pa.array(values, inner)
    parquet.write_table(
        pa.table({"order_id": ["a"] * len(values), "v": array}),
        f"{target.address}/output/part-0.parquet",
    )
    return seen("parquet", of_kind(target, kind))


def of_function(target, kind, value):
    return batch_of(of_kind(target, kind), [{"order_id": "a", "v": value}], "m:f").column("v")


def test_json_that_only_looks_equal_when_it_is_cut_is_refused(target):
    rows = [{"order_id": 1, "v": 10.99}, {"order_id": 2.5, "v": "7"}, {"order_id": 3, "v": True}]
    for row in rows:
        Path(target.address, "output/a.json").write_text(json.dumps(row))
        with pytest.raises(StackError, match=re.escape(MESSAGES["json"])):
            seen("json", target)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bigint", Decimal("1.5")),
        ("bigint", 2.0),
        ("bigint", np.float64(2)),
        ("bigint", 2**63),
        ("int", -(2**31) - 1),
        ("int", True),
        ("int", np.bool_(True)),
        ("double", "7"),
        ("double", True),
        ("double", 2**53 + 1),
        ("double", Decimal("0.10000000000000000001")),
        ("double", Decimal("1e400")),
        ("boolean", 1),
        ("boolean", "true"),
        ("string", b"a"),
        ("timestamp", 17),
        ("timestamp", "soon"),
        ("timestamp", "2024-01-01 00:00:00.0000001"),
    ],
)
def test_a_value_that_its_type_would_change_is_rejected(target, kind, value):
    with pytest.raises(StackError, match=re.escape(MESSAGES["function"])):
        of_function(target, kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("bigint", np.int64(7), 7),
        ("double", np.float32(0.5), 0.5),
        ("double", Decimal("1.50"), 1.5),
        ("double", Decimal("0.30000000000000004"), 0.1 + 0.2),
        ("double", 7, 7.0),
        ("double", "-Infinity", float("-inf")),
        ("boolean", np.bool_(False), False),
        ("string", 7, "7"),
        ("string", Decimal("1.50"), "1.50"),
        ("timestamp", "2024-02-29T12:00:00", NOON),
        ("timestamp", dt.datetime(2024, 2, 29, 12), NOON),  # noqa: DTZ001
        ("timestamp", dt.date(2024, 2, 29), NOON.replace(hour=0)),
        ("binary", b"\x00", b"\x00"),
        ("bigint", None, None),
    ],
)
def test_a_value_that_its_type_holds_is_read(target, kind, value, found):
    assert of_function(target, kind, value).to_pylist() == [found]


@pytest.mark.parametrize(
    ("kind", "value", "inner"),
    [
        ("bigint", 1.7, None),
        ("bigint", 2.0, None),
        ("bigint", True, None),
        ("bigint", "7", None),
        ("bigint", Decimal("1.0"), None),
        ("bigint", NOON, None),
        ("int", 2**40, None),
        ("boolean", 2, None),
        ("double", True, None),
        ("double", "0.5", None),
        ("double", 2**53 + 1, None),
        ("double", Decimal("0.10000000000000000001"), None),
        ("timestamp", 17, None),
        ("timestamp", 1, pa.timestamp("ns")),
    ],
)
def test_a_parquet_column_that_its_type_would_change_is_rejected(target, kind, value, inner):
    with pytest.raises(StackError, match=r"^part-0\.parquet.*(v|17|1)"):
        of_parquet(target, kind, [value], inner)


@pytest.mark.parametrize(
    ("kind", "value", "inner", "found"),
    [
        ("bigint", 7, pa.int16(), 7),
        ("int", 7, pa.int64(), 7),
        ("double", 7, pa.int64(), 7.0),
        ("double", 0.5, pa.float32(), 0.5),
        ("double", Decimal("1.50"), None, 1.5),
        ("string", 7, None, "7"),
        ("timestamp", NOON, pa.timestamp("ns", "UTC"), NOON),
        ("timestamp", dt.date(2024, 2, 29), None, NOON.replace(hour=0)),
    ],
)
def test_a_column_of_parquet_that_its_type_holds_is_read(target, kind, value, inner, found):
    assert of_parquet(target, kind, [value, None], inner) == [found, None]


def test_spark_s_oldest_timestamps_are_read_however_far_they_are(target):
    far = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
    table = pa.table({"order_id": ["a"], "v": pa.array([far], pa.timestamp("us", "UTC"))})
    path = f"{target.address}/output/part-0.parquet"
    parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    assert seen("parquet", of_kind(target, "timestamp")) == [far]


@pytest.mark.parametrize("name", ["parquet", "json"])
@pytest.mark.parametrize(("day", "found"), [("3", 3), ("03", 3), ("3.5", None), ("0x3", None)])
def test_a_folder_s_name_is_a_value_of_its_column_or_an_error(target, name, day, found):
    folder = Path(target.address, f"output/v={day}")
    folder.mkdir()
    if name == "parquet":
        parquet.write_table(pa.table({"order_id": ["a"]}), folder / "p.parquet")
    else:
        (folder / "a.json").write_text('{"order_id": "a"}')
    if found is None:
        with pytest.raises(StackError, match=rf"v={re.escape(day)}.*'{re.escape(day)}'.*bigint"):
            seen(name, target)
    else:
        assert seen(name, target) == [found]


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ("numeric(9,2)", "int8"),
        ("numeric", "int4"),
        ("float8", "int8"),
        ("float4", "int4"),
        ("bool", "int4"),
        ("text", "int8"),
        ("text", "float8"),
        ("money", "float8"),
        ("int4", "bool"),
        ("text", "bool"),
        ("text", "timestamptz"),
        ("time", "timestamptz"),
        ("int8[]", "int8"),
        ("numeric(9,2)[]", "float8"),
        ("timestamp(3)[]", "timestamptz"),
    ],
)
def test_a_table_column_that_its_type_would_change_is_rejected(held, wanted):
    with pytest.raises(StackError, match=rf"s\.t.*{re.escape(held)}.*expected"):
        casting("s.t", "v", held, wanted)


@pytest.mark.parametrize(
    ("held", "wanted", "sql"),
    [
        ("int8", "int8", '"v"::int8'),
        ("int2", "int8", '"v"::int8'),
        ("int8", "int4", '"v"::int4'),
        ("float4", "float8", '"v"::float8'),
        ("int4", "float8", '"v"::float8'),
        ("timestamp(3)", "timestamptz", '"v"::timestamptz'),
        ("numeric(9,2)", "text", '"v"::text'),
        ("varchar(9)", "text", '"v"::text'),
    ],
)
def test_a_column_of_a_table_that_its_type_holds_is_cast(held, wanted, sql):
    assert casting("s.t", "v", held, wanted).as_string(None) == sql


@pytest.mark.parametrize(
    ("held", "back"), [("int8", '"v"::float8::int8'), ("numeric(38,18)", "::text::numeric")]
)
def test_a_number_of_a_table_that_a_double_may_not_hold_is_cast_there_and_back(held, back):
    assert back in casting("s.t", "v", held, "float8").as_string(None)


def test_folders_above_the_output_name_no_column(tmp_path):
    address = tmp_path / "v=5"
    (address / "output").mkdir(parents=True)
    target = Target(str(address), "output", COLUMNS | {"v": "bigint"}, ("order_id",), None)
    table = pa.table({"order_id": ["a"], "v": pa.array([7], pa.int64())})
    parquet.write_table(table, address / "output/part-0.parquet")
    assert seen("parquet", target) == [7]
    parquet.write_table(table.drop_columns("v"), address / "output/part-0.parquet")
    with pytest.raises(StackError, match=re.escape(MESSAGES["no column"])):
        seen("parquet", target)


@pytest.mark.parametrize("name", ["parquet", "json"])
def test_a_column_of_an_output_in_file_and_folder_is_an_error(target, name):
    folder = Path(target.address, "output/v=3")
    folder.mkdir()
    if name == "parquet":
        parquet.write_table(pa.table({"order_id": ["a"], "v": [4]}), folder / "p.parquet")
    else:
        (folder / "a.json").write_text('{"order_id": "a", "v": 4}')
    with pytest.raises(StackError, match=re.escape(MESSAGES["twice"])):
        seen(name, target)


def test_no_file_of_an_output_is_silently_left_out(target):
    rows = pa.table({"order_id": ["a"], "v": pa.array([1], pa.int64())})
    elsewhere = Path(target.address, "elsewhere")
    elsewhere.mkdir()
    parquet.write_table(rows, elsewhere / "p.parquet")
    folder = Path(target.address, "output")
    (folder / "more").symlink_to(elsewhere)
    parquet.write_table(rows, folder / "p.PARQUET")
    (folder / "_SUCCESS").touch()
    assert seen("parquet", target) == [1, 1]
    (folder / "part-00001").touch()
    with pytest.raises(StackError, match=re.escape(MESSAGES["other file"])):
        seen("parquet", target)
