"""Values of files are compared exactly or refused: none is rounded, retyped or left out."""

import datetime as dt
import os
import shutil
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceproof.comparison import compare
from onceproof.comparison.kinds import is_held
from onceproof.errors import RequestError
from tests.unit.comparison.sides import parquet

DIFFERS, EQUAL = {"changed": 1}, {}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def table(path, columns, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


def differences(expected, observed, **options):
    found = compare(expected, observed, **({"key": ["id"]} | options))
    return {one: count for one, count in found.counts.items() if count}


def said(expected, observed, **options):
    """The differences, or "refused"."""
    try:
        return differences(expected, observed, **options)
    except RequestError:
        return "refused"


def json_sides(folder, ours, theirs, more=""):
    return [
        write(folder / f"{name}.jsonl", f'{{"id": 1, "a": {value}}}\n{more}')
        for name, value in (("e", ours), ("o", theirs))
    ]


# Folders: H1 of the review.


def test_no_folder_around_the_files_is_a_column(tmp_path):
    folder = tmp_path / "region=eu" / "ID=9"
    ours = table(folder / "e/a.parquet", {"id": [1, 2], "region": ["eu", "us"]})
    theirs = table(folder / "o/a.parquet", {"id": [1, 2], "region": ["eu", "cn"]})
    for sides in ((ours, theirs), (ours.parent, theirs.parent), (f"{folder}/e/*.parquet", theirs)):
        assert differences(*sides) == DIFFERS
    text = [write(folder / f"{name}.csv", f"id,x\n{name},a\n") for name in "eo"]
    assert differences(*text) == {"lost": 1, "unexpected": 1}
    lines = [write(folder / f"{n}.jsonl", f'{{"id": {n}}}\n') for n in (1, 2)]
    assert differences(*lines) == {"lost": 1, "unexpected": 1}


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_folders_below_the_named_one_are_columns_of_every_format(tmp_path, form):
    for day in (1, 2):
        path = tmp_path / f"region=eu/side/day={day}/x/part.{form}"
        lines = {"csv": f"id\n{day}\n", "jsonl": f'{{"id": {day}}}\n'}
        if form == "parquet":
            table(path, {"id": [day]})
        else:
            write(path, lines[form])
    good = parquet(tmp_path, "good", {"id": [1, 2], "day": [1, 2]})
    bad = parquet(tmp_path, "bad", {"id": [1, 2], "day": [1, 3]})
    for named in (tmp_path / "region=eu/side", f"{tmp_path}/region=eu/side/day=*/x/*"):
        assert differences(good, named) == EQUAL
        assert differences(named, bad) == DIFFERS
    in_it = tmp_path / "region=eu/side/day=1"
    with pytest.raises(RequestError, match=r"\bday\b.*\bexpected\b"):
        differences(good, in_it)


@pytest.mark.parametrize("name", ["k", "K"])
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_a_column_in_a_file_and_in_its_folder_s_name_is_refused(tmp_path, name, form):
    path = tmp_path / f"o/{name}=1/a.{form}"
    if form == "parquet":
        table(path, {"id": [1], "k": [2]})
    else:
        write(path, {"csv": "id,k\n1,2\n", "jsonl": '{"id": 1, "k": 2}\n'}[form])
    good = parquet(tmp_path, "good", {"id": [1], "k": [2]})
    with pytest.raises(RequestError, match=rf"\b{name}\b.*\bfolders\b"):
        differences(good, tmp_path / "o")
    assert differences(good, path) == EQUAL


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ("1", "2", {"changed": 1}),
        ("01", "1", "refused"),
        ("__HIVE_DEFAULT_PARTITION__", "1", {"changed": 1}),
        ("a%2Fb", "a%2fb", {}),
        ("a%2Fb", "a%2Fc", {"changed": 1}),
        ("2024-01-01", "2024-01-02", {"changed": 1}),
        ("1.5", "1.50", {"changed": 1}),
        ("", "1", "refused"),
    ],
)
def test_values_of_folders_are_whole_numbers_dates_or_text(tmp_path, ours, theirs, found):
    for side, value in (("e", ours), ("o", theirs)):
        table(tmp_path / side / f"k={value}/a.parquet", {"id": [1]})
    assert said(tmp_path / "e", tmp_path / "o") == found


def test_one_column_twice_in_a_path_is_refused(tmp_path):
    side = table(tmp_path / "o/k=1/x/k=2/a.parquet", {"id": [1]}).parents[3]
    with pytest.raises(RequestError, match=r"name=value"):
        differences(side, side)


# JSON: H2.


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ('"1"', "1"),
        ('"true"', "true"),
        ('{"b": 1}', '"{\\"b\\": 1}"'),
        ('{"b": "1"}', '{"b": 1}'),
        ('["1"]', "[1]"),
        ("1", "true"),
        ("[]", "{}"),
        ("{}", "null"),
    ],
)
def test_json_of_two_types_is_refused(tmp_path, ours, theirs):
    sides = json_sides(tmp_path, ours, theirs)
    with pytest.raises(RequestError, match=r"\ba\b"):
        differences(*sides)
    assert differences(*sides, ignore=["a"]) == EQUAL


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1", pa.string()),
        ('"1"', pa.int64()),
        ('"1.5"', pa.float64()),
        ('"1.5"', pa.decimal128(5, 2)),
        ('"true"', pa.bool_()),
        ('{"b": "1"}', pa.struct([("b", pa.int64())])),
        ('{"b": 1, "c": 2}', pa.struct([("b", pa.int64())])),
        ('["1"]', pa.list_(pa.int64())),
        ("1", pa.timestamp("us")),
        ('"2024-01-01T00:00:00Z"', pa.timestamp("us")),
        ('"2024-01-01T00:00:00.0000001"', pa.timestamp("us")),
        ('"2024-01-01 10:00"', pa.date32()),
        ("9007199254740993", pa.float64()),
        ("1.005", pa.decimal128(5, 2)),
        ("128", pa.int8()),
        ("-1", pa.uint64()),
    ],
)
def test_json_beside_a_type_that_does_not_hold_it_is_refused(tmp_path, value, kind):
    typed = parquet(tmp_path, "typed", {"id": [1], "a": [None]}, a=kind)
    lines = write(tmp_path / "o.jsonl", f'{{"id": 1, "a": {value}}}\n')
    for sides in ((typed, lines), (lines, typed)):
        with pytest.raises(RequestError, match=r"\ba,.*\bexactly\b"):
            differences(*sides)


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ("1", "1.0", {}),
        ("-0.0", "0", {}),
        ("1e2", "100", {}),
        ("0.1", "0.10000000000000001", {}),
        ("9223372036854775809", "9223372036854775810", {"changed": 1}),
        ("18446744073709551617", "18446744073709551618", {"changed": 1}),
        ("-1", "18446744073709551615", {"changed": 1}),
        ("[]", "null", {"changed": 1}),
        ("[null]", "[]", {"changed": 1}),
        ('{"b": 1}', '{"b": 1, "c": 2}', {"changed": 1}),
        ('{"b": 1}', '{"c": null, "b": 1}', {}),
        ('"a\\u0000b"', '"a\\u0000c"', {"changed": 1}),
        ('["2024-01-01"]', '["2024-1-1"]', {"changed": 1}),
    ],
)
def test_json_beside_json_is_compared_by_value(tmp_path, ours, theirs, found):
    assert differences(*json_sides(tmp_path, ours, theirs)) == found


@pytest.mark.parametrize(
    "line",
    ["null", "[1]", '{"id": 1, "id": 2}', '{"id": NaN}', '{"id": 1', '{"a": 1, "A": 2}', "{}"],
)
def test_a_line_that_is_no_object_of_members_is_refused(tmp_path, line):
    good, bad = (
        write(tmp_path / f"{n}.jsonl", text) for n, text in (("e", '{"id": 1}'), ("o", line))
    )
    with pytest.raises(RequestError):
        differences(good, bad, key=[])


def test_text_that_json_writes_for_what_is_no_number_is_that_number(tmp_path):
    typed = parquet(tmp_path, "typed", {"id": [1], "a": [float("nan")]})
    assert differences(typed, write(tmp_path / "o.jsonl", '{"id": 1, "a": "NaN"}')) == EQUAL


def test_json_beside_nested_types_is_read_as_these(tmp_path):
    at = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    kind = pa.struct([("m", pa.map_(pa.string(), pa.int8())), ("at", pa.timestamp("ms", "UTC"))])
    typed = parquet(tmp_path, "e", {"id": [1], "a": [{"m": [("x", 1)], "at": at}]}, a=kind)
    text = '{{"id": 1, "a": {{"m": {{"x": {}}}, "at": "2024-01-01T21:00:00+09:00"}}}}\n'
    assert differences(typed, write(tmp_path / "o.jsonl", text.format(1))) == EQUAL
    assert differences(typed, write(tmp_path / "p.jsonl", text.format(2))) == DIFFERS


# Numbers: H3 and H4.

LONG = [
    "9007199254740993",
    "0.10000000000000000001",
    "1e400",
    "-1e400",
    "1e-400",
    "123456789012345678901234567890",
]


@pytest.mark.parametrize("number", LONG)
def test_a_number_that_no_double_holds_is_refused_wherever_it_becomes_one(tmp_path, number):
    typed = parquet(tmp_path, "typed", {"id": [1], "a": [0.5]})
    text = write(tmp_path / "o.csv", f"id,a\n1,{number}\n")
    more = '{"id": 2, "a": 0.5}\n'
    refused = [
        ((typed, text), {}),
        ((typed, json_sides(tmp_path / "beside", number, "1")[0]), {}),
        ((text, text), {"tolerance": {"a": 0.0}}),
        (json_sides(tmp_path / "whole", number, "1", more), {}),
        (json_sides(tmp_path / "within", f"[{number}]", "[0.5]"), {}),
    ]
    for sides, options in refused:
        with pytest.raises(RequestError, match=rf"{number}\b"):
            differences(*sides, **options)


@pytest.mark.parametrize("number", ["0.1", "1e22", "5e-324", "1.7976931348623157e308", "-0", ".5"])
def test_a_number_that_a_double_distinguishes_is_compared(tmp_path, number):
    typed = parquet(tmp_path, "typed", {"id": [1], "a": [float(number)]})
    assert differences(typed, write(tmp_path / "o.csv", f"id,a\n1,{number}\n")) == EQUAL


@pytest.mark.parametrize(
    ("text", "bits", "held"),
    [
        ("0.1", 32, True),
        ("0.10000000149011612", 32, True),
        ("0.100000001", 32, True),
        ("0.1000000015", 32, False),
        ("16777217", 32, False),
        ("16777216", 32, True),
        ("1e39", 32, False),
        ("0.1000000000000000055511151231257827021181583404541015625", 64, True),
        ("0.30000000000000004", 64, True),
        ("0.3000000000000000444", 64, False),
        ("1_000", 64, False),
        (" 1", 64, False),
        ("0x1", 64, False),
        ("0", 64, True),
        ("000.0e9", 64, True),
    ],
)
def test_which_numbers_a_float_holds(text, bits, held):
    assert is_held(text, bits) is held


def test_a_decimal_of_more_digits_than_are_compared_is_refused(tmp_path):
    kind = pa.decimal256(60, 0)
    ours, theirs = (
        parquet(tmp_path, name, {"id": [1], "a": [[Decimal("1" * 49 + end)]]}, a=pa.list_(kind))
        for name, end in (("e", "1"), ("o", "2"))
    )
    with pytest.raises(RequestError, match=r"\ba\b.*\b60\b"):
        differences(ours, theirs)
    assert differences(ours, theirs, ignore=["a"]) == EQUAL


# Files: H5.


@pytest.mark.parametrize("name", ["b.parquet", "b.PARQUET", "below/b.parquet", "_k=1/b.parquet"])
def test_every_file_of_a_folder_is_read(tmp_path, name):
    table(tmp_path / "e/a.parquet", {"id": [1]})
    for part in ("a.parquet", name):
        table(tmp_path / "o" / part, {"id": [1]})
    found = said(tmp_path / "e", tmp_path / "o")
    assert found == ("refused" if "=" in name else {"duplicated": 1})


@pytest.mark.parametrize("name", ["part-00001", "b.csv.bz2", "b.parquet.tmp", "notes.md", "b.csv"])
def test_a_file_that_is_not_read_is_named(tmp_path, name):
    table(tmp_path / "e/a.parquet", {"id": [1]})
    shutil.copytree(tmp_path / "e", tmp_path / "o")
    shutil.copy(tmp_path / "e/a.parquet", tmp_path / "o" / name)
    with pytest.raises(RequestError, match=rf"o/{name}\b"):
        differences(tmp_path / "e", tmp_path / "o")


def test_links_are_followed_but_not_in_circles(tmp_path):
    table(tmp_path / "e/a.parquet", {"id": [1]})
    table(tmp_path / "x/b.parquet", {"id": [1]})
    shutil.copytree(tmp_path / "e", tmp_path / "o")
    os.symlink(tmp_path / "x", tmp_path / "o/more")
    assert differences(tmp_path / "e", tmp_path / "o") == {"duplicated": 1}
    os.symlink(tmp_path / "o", tmp_path / "x/back")
    with pytest.raises(RequestError, match=r"\babove\b"):
        differences(tmp_path / "e", tmp_path / "o")


# Times: H6 and H7.


@pytest.mark.parametrize("end", ["+05", "+05:30", "-00:00", "Z", " UTC", " Asia/Tokyo"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_offset_beside_a_time_without_a_zone_is_refused(tmp_path, end, form):
    typed = parquet(tmp_path, "e", {"id": [1], "a": [dt.datetime.fromisoformat("2024-01-01")]})
    value = f"2024-01-01 00:00:00{end}"
    text = {"csv": f"id,a\n1,{value}\n", "jsonl": f'{{"id": 1, "a": "{value}"}}'}[form]
    with pytest.raises(RequestError, match=r"\bhold\b"):
        differences(typed, write(tmp_path / f"o.{form}", text))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("2024-01-01 00:00:00+05", {}),
        ("2023-12-31T19:00:00.000000000Z", {}),
        ("2023-12-31 19:00", {}),
        ("2024-01-01 00:00:00", {"changed": 1}),
        ("2024-01-01 00:00:00 Asia/Tokyo", "refused"),
        ("2023-12-31 19:00:00.0000001", "refused"),
    ],
)
def test_an_offset_beside_an_instant_counts(tmp_path, value, found, form):
    at = dt.datetime(2023, 12, 31, 19, tzinfo=dt.UTC)
    typed = parquet(tmp_path, "e", {"id": [1], "a": [at]})
    text = {"csv": f"id,a\n1,{value}\n", "jsonl": f'{{"id": 1, "a": "{value}"}}'}[form]
    assert said(typed, write(tmp_path / f"o.{form}", text)) == found


NOON = pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))
LATER = pa.array([dt.datetime(2024, 1, 2, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))


def inner(array):
    return pa.StructArray.from_arrays([array], ["ts"])


def int96(folder, name, columns):
    return table(folder / f"{name}.parquet", columns, use_deprecated_int96_timestamps=True)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("2024-01-01 00:00:00", "2024-01-01T00:00:00Z"), (1, 2)]
)
def test_a_column_that_is_called_like_a_nested_int96_is_what_it_is(tmp_path, ours, theirs):
    e = int96(tmp_path, "e", {"id": [1], "ts": [ours], "s": inner(NOON)})
    o = int96(tmp_path, "o", {"id": [1], "ts": [theirs], "s": inner(NOON)})
    assert differences(e, o) == DIFFERS
    assert differences(e, e) == EQUAL


def test_int96_within_a_column_is_an_instant(tmp_path):
    old = int96(tmp_path, "e", {"id": [1], "s": inner(NOON)})
    assert differences(old, table(tmp_path / "o.parquet", {"id": [1], "s": inner(NOON)})) == EQUAL
    assert (
        differences(old, table(tmp_path / "o.parquet", {"id": [1], "s": inner(LATER)})) == DIFFERS
    )
    naive = inner(NOON.cast(pa.timestamp("us")))
    with pytest.raises(RequestError, match=r"\bs\b.*\bINT96\b"):
        differences(old, table(tmp_path / "o.parquet", {"id": [1], "s": naive}))


@pytest.mark.parametrize("nests", [False, True])
def test_nanoseconds_of_int96_are_refused_where_they_are_compared(tmp_path, nests):
    def column(ns):
        array = pa.array([ns], pa.timestamp("ns", "UTC"))
        return inner(array) if nests else array

    sides = [
        int96(tmp_path, name, {"id": [1], "a": column(1000 + n)}) for n, name in enumerate("eo")
    ]
    with pytest.raises(RequestError, match=r"\ba\b.*\bINT96\b.*\bnanoseconds\b"):
        differences(*sides)
    assert differences(*sides, ignore=["a"]) == EQUAL
    assert differences(sides[0], sides[0]) == EQUAL


def test_a_delimiter_too_many_is_no_column_and_a_field_too_many_is_refused(tmp_path):
    good = write(tmp_path / "e.csv", "id,x\n1,a\n")
    for field in ("z", '""'):
        with pytest.raises(RequestError, match=r"\bread\b"):
            differences(good, write(tmp_path / "o.csv", f"id,x\n1,a,{field}\n"))
