"""The rows that suites check, as pandas tables without changed values."""

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.phases.suite_rows import ROWS
from onceproof.runs.directory import RunDirectory


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def write(folder, **columns):
    folder.mkdir(exist_ok=True)
    parquet.write_table(pa.table(columns), folder / "rows.parquet")


def sent(run, *payloads, **columns):
    many = len(payloads)
    defaults = {"key": ["k"] * many, "kind": ["event"] * many, "ack": ["ok"] * many}
    write(run.ledger, payload=list(payloads), **{**defaults, **columns})


def test_whole_numbers_with_nulls_stay_whole(run):
    write(run.all_columns, n=[2**53 + 1, None])
    assert ROWS["output"](run)["n"].tolist() == [2**53 + 1, None]


def test_decimals_are_floats_unless_one_would_change(run):
    exact, longer = [Decimal("10.10"), None], [Decimal("0.12345678901234567891"), Decimal(1)]
    write(run.all_columns, exact=exact, longer=longer)
    found = ROWS["output"](run)
    assert (str(found["exact"].dtype), found["exact"][0]) == ("float64", 10.1)
    assert found["longer"][0] == longer[0]


def test_the_input_has_the_members_of_what_was_acknowledged(run):
    objects = [json.dumps({"id": at, "note": None}).encode() for at in range(4)]
    kinds = ["event", "redelivery", "event", "sentinel"]
    sent(run, *objects, kind=kinds, ack=["ok", "ok", "unknown", "ok"])
    assert ROWS["input"](run)["id"].tolist() == [0, 1]
    assert ROWS["input"](run).columns.tolist() == ["id", "note"]


@pytest.mark.parametrize("other", [b"[1]", b"\xff", b"", None])
def test_an_input_of_other_values_has_key_and_value(run, other):
    sent(run, b'{"id": 1}', other)
    found = ROWS["input"](run)
    assert found.columns.tolist() == ["key", "value"]
    assert found["value"][0] == '{"id": 1}'
