"""The rows that suites check, as pandas tables.

They are the counts of the `differences` (one row), the `observed` rows with the compared columns,
the `output` with all of its columns, and the `input`: the acknowledged events of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from onceproof.documents import field, read_object
from onceproof.runs.directory import RunDirectory
from onceproof.runs.ledger import read_rows
from onceproof.runs.suites import INPUT, OUTPUT
from onceproof.sinks.exact_cells import from_json
from onceproof.sinks.outputs.all_columns import table_of


def _differences(run: RunDirectory) -> Any:
    import pandas

    summary = read_object(run.summary)
    counts = field(summary, "differences", dict, "the summary of differences")
    rows = field(summary, "rows", dict, run.summary.name)
    return pandas.DataFrame([{**counts, **{f"rows_{name}": n for name, n in rows.items()}}])


def _observed(run: RunDirectory) -> Any:
    return read_rows(run.observed).to_pandas()


def _output(run: RunDirectory) -> Any:
    return _frame(read_rows(run.all_columns))


def _input(run: RunDirectory) -> Any:
    """Return the members of each event's JSON object; where one is no object, key and value.

    The sentinel is not an event of the workload.
    """
    sent = read_rows(run.ledger, ["key", "payload", "kind", "ack"]).to_pylist()
    events = [one for one in sent if one["ack"] == "ok" and one["kind"] != "sentinel"]
    found = [_members(one["payload"]) for one in events]
    rows = [one for one in found if one is not None]
    if len(rows) < len(found):
        rows = [{"key": one["key"], "value": _text(one["payload"])} for one in events]
    return _frame(table_of(rows))


def _members(payload: bytes | str | None) -> dict[str, Any] | None:
    try:
        found = from_json(payload or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _text(payload: bytes | str | None) -> str | None:
    return payload.decode(errors="replace") if isinstance(payload, bytes) else payload


def _frame(rows: Any) -> Any:
    """Return an Arrow table as a pandas table without changing a value.

    A column of whole numbers with nulls stays one of whole numbers. Decimals become floats, which
    the numbers of a suite can be compared with, unless a float does not hold one of them.
    """
    import pyarrow as pa

    frame = rows.to_pandas(integer_object_nulls=True)
    for name, kind in zip(rows.column_names, rows.schema.types, strict=True):
        if pa.types.is_decimal(kind) and all(map(_is_held, frame[name])):
            frame[name] = frame[name].astype("float64")
    return frame


def _is_held(value: Decimal | None) -> bool:
    return value is None or Decimal(repr(float(value))) == value


ROWS: Mapping[str, Callable[[RunDirectory], Any]] = {
    "differences": _differences,
    "observed": _observed,
    OUTPUT: _output,
    INPUT: _input,
}
