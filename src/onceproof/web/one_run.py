"""The verdict of a single run, from its folder and the verdict history.

Only files below the runs folder are shown, after links are resolved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from onceproof.documents import field, parse_object, read_object
from onceproof.errors import EvidenceError
from onceproof.past.entry import Entry
from onceproof.past.issues import Issue
from onceproof.runs.directory import RunDirectory
from onceproof.web.grid import Standing, standing

_SCHEMA = 1
_FIELDS = {
    "verdict": str, "as_claimed": bool, "reasons": list, "differences": dict, "counted": list,
    "allowed": list, "counts": dict, "faults": list, "anomalies": list, "run": str, "replay": str,
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A run with its standing, its verdict document, and the problem with that, if any.

    The document is empty if it is missing or not trustworthy; `trouble` then is the reason.
    """

    run: str
    standing: Standing
    document: Mapping[str, Any]
    issue: Issue | None = None
    link: str = ""
    trouble: str = ""


def judged_run(
    run: RunDirectory, entry: Entry | None, issues: Sequence[Issue], now: datetime, link: str
) -> Judged:
    """Return the verdict in a run's folder; unknown if the history does not confirm it."""
    name = entry.run if entry else run.root.name
    try:
        document = _read(run, entry)
    except EvidenceError as error:
        return Judged(name, Standing.UNKNOWN, {}, trouble=str(error))
    if entry is None:
        trouble = "this run is not in the verdict history, so its verdict does not count"
        return Judged(name, Standing.UNKNOWN, document, trouble=trouble)
    found, issue = standing(entry, issues, now)
    return Judged(name, found, document, issue, link)


def _read(run: RunDirectory, entry: Entry | None) -> Mapping[str, Any]:
    if not run.verdict.exists():
        raise EvidenceError("the run is not judged yet: its folder has no verdict.json")
    if not is_inside(run.verdict, run.root):
        raise EvidenceError("verdict.json is a link out of the run's folder and is not read")
    data = run.verdict.read_bytes()
    if entry and hashlib.sha256(data).hexdigest() != entry.verdict_digest:
        raise EvidenceError(
            "verdict.json is not the one in the verdict history; judge the run again"
        )
    return checked_document(data)


def checked_document(data: bytes) -> Mapping[str, Any]:
    """Return a verdict document in the schema of this page, or raise `EvidenceError`."""
    document = parse_object(data.decode("utf-8", errors="replace"), "verdict.json")
    if document.get("schema") != _SCHEMA:
        raise EvidenceError(
            f"verdict.json has schema {document.get('schema')!r}, but this page supports"
            f" {_SCHEMA}; judge the run again"
        )
    for name, kind in _FIELDS.items():
        field(document, name, kind, "verdict.json")
    return document


def is_inside(path: Path, runs: Path) -> bool:
    """Whether a path is below the runs folder after its links are resolved."""
    return runs.resolve() in path.resolve().parents


def report_of(directory: Path, runs: Path) -> Path | None:
    """Return the report in a run's directory, or None without one that may be shown."""
    report = RunDirectory(directory).report
    is_public = is_inside(directory, runs) and is_inside(report, directory) and report.is_file()
    return report.resolve() if is_public else None


def find_dag_run(dag_run: str, runs: Path) -> RunDirectory | None:
    """Return the newest run whose plan names this DAG run of Airflow, or None.

    Directories are named by the time of their plan, so the newest is checked first.
    """
    plans = runs.glob("*/*/plan.json")
    for plan in sorted(plans, key=lambda path: path.parent.name, reverse=True):
        ours = is_inside(plan.parent, runs) and is_inside(plan, plan.parent)
        if ours and _orchestrator(plan) == dag_run:
            return RunDirectory(plan.parent)
    return None


def _orchestrator(plan: Path) -> object:
    try:
        return read_object(plan).get("orchestrator")
    except EvidenceError:  # an unreadable plan names no run; its own verdict shows that
        return None
