"""The rows of a reader's texts are those of the files, for every writer of the texts."""

import datetime as dt
import re

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import EvidenceError
from onceproof.judging.seen_rows import Shape
from onceproof.sinks import Target
from onceproof.sinks.files.parquet_rows import schema
from onceproof.sinks.files.reader import look_rows

COLUMNS = {
    "id": "bigint",
    "name": "string",
    "value": "double",
    "right": "boolean",
    "at": "timestamp",
    "raw": "binary",
}
SHAPE = Shape(COLUMNS, ["id"], None)
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999000, tzinfo=dt.UTC)
ODD = [
    (1, 'quotes " and \u2028 \x01 é', 1.0, True, MOMENT),
    (2, "", float("nan"), False, None),
    (3, None, -0.0, None, MOMENT.replace(microsecond=0)),
    (4, "\\", float("-inf"), None, None),
    (5, "x", 1e22, True, None),
]
# As PostgreSQL's json_build_array writes them.
OF_A_TABLE = [
    r'["quotes \" and ' + "\u2028" + r' \u0001 é", 1, true, "2024-02-29T23:59:59.999+00:00", null]',
    '["", "NaN", false, null, null]',
    '[null, 0, null, "2024-02-29T23:59:59+00:00", null]',
    r'["\\", "-Infinity", null, null, null]',
    '["x", 1e+22, true, null, null]',
]


def kept(folder, rows, raw=None):
    folder.mkdir()
    whole = schema(Target("", "", COLUMNS, ("id",)))
    cells = [dict(zip(COLUMNS, (*row, raw), strict=True)) for row in rows]
    table = pa.Table.from_pylist([cell | {"_batch": 7, "_attempt": 1} for cell in cells], whole)
    parquet.write_table(table, folder / "rows.parquet")
    return table


def of_a_table(texts=OF_A_TABLE):
    return [(f"[{nth}]", text, None, 7, 1, 1) for nth, text in enumerate(texts, 1)]


def test_the_texts_of_a_table_are_the_rows(tmp_path):
    kept(tmp_path / "rows", ODD)
    assert SHAPE.polled(of_a_table()) == SHAPE.observed(tmp_path / "rows")


@pytest.mark.parametrize("raw", [None, b"\x00\xff"])
def test_the_texts_of_files_and_topics_are_the_rows(raw, tmp_path):
    (batch,) = kept(tmp_path / "rows", ODD, raw).to_batches()
    rows = look_rows(batch, Target("", "", COLUMNS, ("id",))).to_pylist()
    names = ("key", "value", "version", "batch", "attempt")
    looked = [(*(row[name] for name in names), 1) for row in rows]
    assert SHAPE.polled(reversed(looked)) == SHAPE.observed(tmp_path / "rows")


@pytest.mark.parametrize("other", ["1.0000001", "true", "null", '"1"'])
def test_another_value_is_another_row(other, tmp_path):
    kept(tmp_path / "rows", ODD)
    texts = [OF_A_TABLE[0].replace(", 1,", f", {other},", 1), *OF_A_TABLE[1:]]
    is_same = SHAPE.polled(of_a_table(texts)) == SHAPE.observed(tmp_path / "rows")
    assert is_same is (other in ('"1"', "true"))  # a double all the same


def test_copies_that_came_and_went_count(tmp_path):
    kept(tmp_path / "rows", [*ODD, ODD[0]])
    first, *rest = of_a_table()
    twice = [(*first[:5], 2), *rest]
    assert SHAPE.polled(twice) == SHAPE.observed(tmp_path / "rows")
    assert SHAPE.polled(of_a_table()) != SHAPE.observed(tmp_path / "rows")


@pytest.mark.parametrize("text", ["{", "[1]", "a", '["x", "much", true, null, null]', "7"])
def test_a_text_that_no_reader_writes_is_refused(text):
    with pytest.raises(EvidenceError, match=re.escape(repr(text))):
        SHAPE.polled([("[1]", text, None, 7, 1, 1)])


def test_rows_of_an_output_do_not_name_their_writer(tmp_path):
    (tmp_path / "rows").mkdir()
    parquet.write_table(pa.table({"id": [1, 2]}), tmp_path / "rows/rows.parquet")
    shape = Shape({"id": "bigint"}, ["id"], "id")
    looked = [("[1]", "[]", 1, None, None, 1), ("[2]", "[]", 2, None, None, 1)]
    assert shape.polled(looked) == shape.observed(tmp_path / "rows")
