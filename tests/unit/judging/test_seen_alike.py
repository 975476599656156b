"""Only rows that are alike in every cell and as often are certainly alike."""

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.judging.seen_alike import certainly_alike
from onceproof.judging.seen_rows import Shape
from onceproof.runs.reads import Poll, Reads
from tests.unit.handwritten_run import READS

COLUMNS = {"id": "bigint", "name": "string", "version": "bigint", "right": "boolean", "n": "int"}
SHAPE = Shape(COLUMNS, ["id"], "version")
ROWS = [
    (1, 'quotes " and \u2028 é', 3, True, -5),
    (1 << 62, None, 4, False, 0),
    (2, "", 4, None, None),
    (3, "null", 5, True, 1),
]
TEXTS = [
    ("[1]", r'["quotes \" and \u2028 \u00e9", 3, true, -5]'),
    (f"[{1 << 62}]", "[null,4,false,0]"),
    ("[2]", '["", 4, null, null]'),
    ("[3]", '["null", 5, true, 1]'),
]


def kept(folder, rows=ROWS, **types):
    arrow = {"id": pa.int64(), "name": pa.string(), "version": pa.int64(), "right": pa.bool_()}
    arrow |= {"n": pa.int32(), "_batch": pa.int64(), "_attempt": pa.int64()} | types
    cells = [dict(zip(arrow, (*row, 7, 1), strict=True)) for row in rows]
    folder.mkdir()
    table = pa.Table.from_pylist(cells, pa.schema(arrow.items()))
    parquet.write_table(table, folder / "rows.parquet")
    return folder


def seen(folder, texts=TEXTS, **changes):
    """Reads of these texts; one row more came and went."""
    rows = [
        {"poll": 1, "copies": 1, "key": key, "value": value, "version": row[2], "position": None}
        | {"batch": 7, "attempt": 1}
        for (key, value), row in zip(texts, ROWS, strict=True)
    ]
    rows[-1] |= changes
    gone = [rows[0] | {"copies": copies, "value": '["gone", 3, true, 0]'} for copies in (1, -1)]
    folder.mkdir()
    table = pa.Table.from_pylist([*rows, *gone], READS)
    parquet.write_table(table, folder / "000001.parquet")
    return Reads.load(folder, [Poll(1, len(rows) + 2, 0, 1)])


def test_rows_that_are_alike_are(tmp_path):
    reads, folder = seen(tmp_path / "reads"), kept(tmp_path / "rows")
    assert certainly_alike(reads, SHAPE, folder)
    each = reads.each("select key, value, version, batch, attempt, copies from reads")
    assert SHAPE.polled(each) == SHAPE.observed(folder)


@pytest.mark.parametrize(
    "text",
    [
        '["nul", 5, true, 1]',
        "[null, 5, true, 1]",
        '["null", 6, true, 1]',
        '["null", 5.0, true, 1]',
        '["null", "5", true, 1]',
        '["null", 5, false, 1]',
        '["null", 5, "true", 1]',
        '["null", 5, true, null]',
        '["null", 5, true, 1, 1]',
        '["null", 5, true]',
        '{"0": "null"}',
        '["null", 5, true, 1',
        "",
    ],
)
def test_another_text_is_not(tmp_path, text):
    texts = [*TEXTS[:-1], ("[3]", text)]
    folder = kept(tmp_path / "rows")
    assert not certainly_alike(seen(tmp_path / "reads", texts), SHAPE, folder)


@pytest.mark.parametrize(
    "change", [{"version": 6}, {"version": None}, {"batch": 8}, {"attempt": 2}, {"key": "[4]"}]
)
def test_another_sign_is_not(tmp_path, change):
    folder = kept(tmp_path / "rows")
    assert not certainly_alike(seen(tmp_path / "reads", **change), SHAPE, folder)


@pytest.mark.parametrize("rows", [ROWS[:-1], [*ROWS, ROWS[0]], [*ROWS[:-1], ROWS[0]]])
def test_rows_that_are_there_more_or_less_often_are_not(tmp_path, rows):
    folder = kept(tmp_path / "rows", rows)
    assert not certainly_alike(seen(tmp_path / "reads"), SHAPE, folder)


@pytest.mark.parametrize("types", [{"id": pa.float64()}, {"n": pa.int64()}])
def test_columns_of_other_types_are_not_certain(tmp_path, types):
    folder = kept(tmp_path / "rows", [row for row in ROWS if row[0] < 1 << 52], **types)
    reads = seen(tmp_path / "reads")
    reads.store.execute("delete from reads where key = ?", [TEXTS[1][0]])
    assert not certainly_alike(reads, SHAPE, folder)


def test_a_column_of_another_kind_is_not_certain(tmp_path):
    folder = kept(tmp_path / "rows")
    shape = Shape({**COLUMNS, "n": "double"}, ["id"], "version")
    assert not certainly_alike(seen(tmp_path / "reads"), shape, folder)
