"""Which files of runs may be shown: those below the runs folder, links resolved."""

from __future__ import annotations

from pathlib import Path

from onceproof.documents import read_object
from onceproof.errors import EvidenceError
from onceproof.run.directory import RunDirectory


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
