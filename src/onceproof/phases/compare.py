"""The phase that compares the final visible rows with the rows that the reference expects."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onceproof.comparison import Differences, compare
from onceproof.comparison.result import samples_of, write_details
from onceproof.documents import count, read_object
from onceproof.errors import EngineError, EvidenceError, RequestError
from onceproof.judging.origins import origins
from onceproof.references.declared import NOT_COMPARED, ORIGIN
from onceproof.runs.directory import RunDirectory
from onceproof.runs.ledger import count_rows, parquet_files, query_parquet, readable
from onceproof.runs.parts import OLDER, made_of
from onceproof.runs.plan import Plan

SAMPLES = 5
_ORIGIN = {
    "topic": "string",
    "partition": "int64",
    "offset": "int64",
    "batch": "int64",
    "attempt": "int64",
    "by": "string",
}


def compare_run(run: RunDirectory, plan: Plan) -> Mapping[str, Any]:
    """Compare expected/ with observed/, and write and return the summary of differences/.

    Rows are matched by the reference's key, and by its version too if the sink appends; batch and
    attempt of a row do not matter. May be repeated; an older result is removed first.
    """
    shutil.rmtree(run.differences, ignore_errors=True)
    part = run.differences.with_name("differences.part")
    shutil.rmtree(part, ignore_errors=True)
    _refuse_unwritten(run, plan)
    made = made_of(run, "differences", plan.run)
    found = _compared(run, key_of(plan), part)
    details = _with_origins(run, found.result.details)
    write_details(details, part)
    summary = {
        **made,
        "differences": dict(found.counts),
        "rows": dict(found.rows) | _late(run),
        "samples": [_without_origin(one) for one in samples_of(details, SAMPLES)],
        "columns": dict(found.columns),
        "seconds": round(found.seconds, 3),
    }
    text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
    (part / run.summary.name).write_text(text, encoding="utf-8")
    os.replace(part, run.differences)
    return summary


def _without_origin(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample whose expected rows do not repeat their place in the input."""
    place = set(ORIGIN) - {"_batch"}
    rows = [{name: row[name] for name in row if name not in place} for row in sample["expected"]]
    return {**sample, "expected": rows}


def _refuse_unwritten(run: RunDirectory, plan: Plan) -> None:
    """Raise `EvidenceError` if no reader ever saw a row: the job may write elsewhere."""
    if not count_rows(run.expected) or count_rows(run.observed):
        return
    query = "select count(*) from {rows} where copies > 0"
    if run.reads.exists() and not query_parquet(run.reads, query)[0][0]:
        raise EvidenceError(
            f"no reader ever saw a row in {plan.output.target} ({plan.output.sink}), and"
            f" {count_rows(run.expected):,} are expected; make the job write to {{target}} at"
            " {address}"
        )


def key_of(plan: Plan) -> list[str]:
    """Return the columns by which rows of a run are matched, from its plan."""
    if plan.output.rows is None:
        raise EvidenceError(OLDER)
    return list(plan.output.rows.compared_by)


def _compared(run: RunDirectory, key: Sequence[str], part: Path) -> Differences:
    present = {name for folder in (run.expected, run.observed) for name in _columns(folder)}
    ignored = [name for name in NOT_COMPARED if name in present]
    try:
        found = compare(run.expected, run.observed, key=key, ignore=ignored, write_to=part)
    except (RequestError, EngineError) as error:
        raise EvidenceError(f"cannot compare expected/ with observed/: {error}") from None
    more = found.rows["observed"] - found.rows["expected"]
    counted = found.counts["duplicated"] + found.counts["unexpected"] - found.counts["lost"]
    if more != counted:
        raise EvidenceError(
            f"the comparison is inconsistent: its differences add up to {counted:+,} rows, and"
            f" observed/ has {more:+,} rows"
        )
    return found


def _columns(folder: Path) -> list[str]:
    import pyarrow.parquet as parquet

    first = parquet_files(folder)[0]
    names: list[str] = readable(first, lambda: parquet.read_schema(first)).names
    return names


def _with_origins(run: RunDirectory, details: Any) -> Any:
    import pyarrow as pa

    if details is None:
        return None
    found = origins(run, details.to_pylist())
    for name, kind in _ORIGIN.items():
        cells = pa.array([one[name] for one in found], getattr(pa, kind)())
        details = details.append_column(name, cells)
    return details


def _late(run: RunDirectory) -> dict[str, int]:
    if not run.recomputed.exists():
        return {}
    return {"late": count(read_object(run.recomputed), "late", run.recomputed.name)}
