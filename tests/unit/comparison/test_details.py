"""What is shown and written of the differences."""

import datetime as dt
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from onceproof.comparison import compare
from tests.unit.comparison.sides import parquet


def judged(folder, expected, observed, **options):
    sides = [parquet(folder, name, side) for name, side in (("e", expected), ("o", observed))]
    return compare(*sides, key=["id"], **options)


def test_a_sample_holds_the_rows_as_they_stand(tmp_path):
    expected = {"id": [1, 2], "v": [-0.0, 1.0], "_batch": [7, 7]}
    observed = {"v": [5.0, 1.0, 1.0], "id": [1, 2, 2], "_attempt": [1, 1, 2]}
    found = judged(tmp_path, expected, observed, ignore=["_batch", "_attempt"])
    duplicated, changed = found.samples
    assert duplicated == {
        "class": "duplicated",
        "rows": 1,
        "key": {"id": 2},
        "expected_rows": 1,
        "observed_rows": 2,
        "expected": [{"id": 2, "v": 1.0, "_batch": 7}],
        "observed": [{"v": 1.0, "id": 2, "_attempt": 1}, {"v": 1.0, "id": 2, "_attempt": 2}],
    }
    assert (changed["class"], str(changed["expected"][0]["v"])) == ("changed", "-0.0")


def test_a_key_of_two_classes_is_shown_under_both(tmp_path):
    found = judged(tmp_path, {"id": [1], "v": [1]}, {"id": [1, 1], "v": [2, 2]})
    assert [one["class"] for one in found.samples] == ["duplicated", "changed"]


def test_rows_that_have_their_equal_are_not_shown(tmp_path):
    found = judged(tmp_path, {"id": [1, 1, 1], "v": [1, 2, 3]}, {"id": [1, 1, 1], "v": [3, 4, 1]})
    (sample,) = found.samples
    assert [row["v"] for row in sample["expected"] + sample["observed"]] == [2, 4]


def test_samples_are_the_lowest_keys_of_every_class(tmp_path):
    ids = list(range(1000))
    expected = {"id": ids, "v": ids}
    observed = {"id": [*range(500, 1000), *range(2000, 2100)], "v": [0] * 600}
    found = judged(tmp_path, expected, observed, samples=2)
    keys = [(one["class"], one["key"]["id"]) for one in found.samples]
    assert keys == [
        ("lost", 0),
        ("lost", 1),
        ("unexpected", 2000),
        ("unexpected", 2001),
        ("changed", 500),
        ("changed", 501),
    ]
    assert sum(found.counts.values()) == 500 + 100 + 500


def test_a_key_with_many_rows_shows_a_few(tmp_path):
    found = judged(tmp_path, {"id": [1]}, {"id": [1] * 5000})
    (sample,) = found.samples
    assert (sample["rows"], len(sample["observed"])) == (4999, 10)


def test_what_json_has_no_word_for_is_text(tmp_path):
    expected = {"id": [1], "v": [float("nan")], "b": [b"\xff"]}
    found = judged(tmp_path, expected, {"id": [2], "v": [float("inf")], "b": [None]})
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    rows = [one["expected"] + one["observed"] for one in document["samples"]]
    assert rows == [[{"id": 1, "v": "nan", "b": "ff"}], [{"id": 2, "v": "inf", "b": None}]]


def test_values_are_shown_as_json_has_them(tmp_path):
    at = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    types = {
        "at": pa.list_(pa.timestamp("us", "Asia/Tokyo")),
        "local": pa.timestamp("us"),
        "day": pa.date32(),
        "amount": pa.decimal128(6, 2),
        "tags": pa.map_(pa.string(), pa.int32()),
        "inner": pa.struct([("a", pa.timestamp("us", "UTC")), ("b", pa.int32())]),
    }
    values = [at, None], at.replace(tzinfo=None), at.date(), 2, [("x", 1)], {"a": at, "b": None}
    row = {"id": [1]} | {name: [one] for name, one in zip(types, values, strict=True)}
    nothing = {name: [] for name in row}
    sides = [parquet(tmp_path, "e", row, **types), parquet(tmp_path, "o", nothing, **types)]
    (sample,) = compare(*sides, key=["id"]).samples
    assert sample["expected"][0] == {
        "id": 1,
        "at": ["2024-02-29T12:00:00+00:00", None],
        "local": "2024-02-29T12:00:00",
        "day": "2024-02-29",
        "amount": "2.00",
        "tags": [["x", 1]],
        "inner": {"a": "2024-02-29T12:00:00+00:00", "b": None},
    }


def test_samples_do_without_pandas(tmp_path):
    at = [dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)]
    sides = [parquet(tmp_path, name, {"id": [name], "at": at}) for name in "eo"]
    script = (
        "import sys; from onceproof.comparison import compare\n"
        "assert compare(*sys.argv[1:], key=['id']).samples\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, *map(str, sides)], check=True)


def test_details_are_written_and_old_ones_removed(tmp_path):
    target = tmp_path / "differences"
    judged(tmp_path, {"id": [1, 2], "v": [1, 2]}, {"id": [1], "v": [3]}, write_to=target)
    rows = pq.read_table(target / "differences.parquet").to_pylist()
    assert [(row["class"], row["rows"], row["key"]) for row in rows] == [
        ("lost", 1, {"id": 2}),
        ("changed", 1, {"id": 1}),
    ]
    judged(tmp_path, {"id": [1]}, {"id": [1]}, write_to=target)
    assert list(target.iterdir()) == []
