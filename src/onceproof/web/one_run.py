"""One run's verdict as its folder and the verdict history tell it.

Of files of runs, those may be shown that are below the runs folder, links resolved.
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
_SHOWN = {
    "verdict": str, "as_claimed": bool, "reasons": list, "differences": dict, "counted": list,
    "allowed": list, "counts": dict, "faults": list, "anomalies": list, "run": str, "replay": str,
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A run to be shown: how it stands, its verdict document, and what is wrong with that.

    The document is empty where there is none, or none that may be believed; `trouble` then says so.
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
    """Return the verdict in a run's folder; one that the history does not confirm is unknown."""
    name = entry.run if entry else run.root.name
    try:
        document = _read(run, entry)
    except EvidenceError as error:
        return Judged(name, Standing.UNKNOWN, {}, trouble=str(error))
    if entry is None:
        trouble = "the verdict history does not know this run, so nothing rests on its verdict"
        return Judged(name, Standing.UNKNOWN, document, trouble=trouble)
    stands, issue = standing(entry, issues, now)
    return Judged(name, stands, document, issue, link)


def _read(run: RunDirectory, entry: Entry | None) -> Mapping[str, Any]:
    if not run.verdict.exists():
        raise EvidenceError("the run is not judged yet: there is no verdict.json in its folder")
    if not is_inside(run.verdict, run.root):
        raise EvidenceError("verdict.json is a link out of the run's folder, and is not read")
    data = run.verdict.read_bytes()
    if entry and hashlib.sha256(data).hexdigest() != entry.verdict_digest:
        raise EvidenceError(
            "verdict.json is not the one that the verdict history recorded: judge the run again"
        )
    return checked_document(data)


def checked_document(data: bytes) -> Mapping[str, Any]:
    """Return a verdict document of the schema that this page can show, or raise `EvidenceError`."""
    document = parse_object(data.decode("utf-8", errors="replace"), "verdict.json")
    if document.get("schema") != _SCHEMA:
        raise EvidenceError(
            f"verdict.json has schema {document.get('schema')!r}, and this page shows"
            f" {_SCHEMA}: judge the run again"
        )
    for name, kind in _SHOWN.items():
        field(document, name, kind, "verdict.json")
    return document


def is_inside(path: Path, runs: Path) -> bool:
    """Return whether a path lies below the runs folder, wherever its links lead."""
    return runs.resolve() in path.resolve().parents


def report_of(directory: Path, runs: Path) -> Path | None:
    """Return the report in a run's directory, or None where there is none that may be shown."""
    report = RunDirectory(directory).report
    shown = is_inside(directory, runs) and is_inside(report, directory) and report.is_file()
    return report.resolve() if shown else None


def find_dag_run(dag_run: str, runs: Path) -> RunDirectory | None:
    """Return the newest run whose plan names this run of Airflow's DAG, or None.

    Directories are named by their time of planning, so the newest is looked at first.
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
    except EvidenceError:  # a plan that cannot be read names no run; its own verdict says so
        return None
