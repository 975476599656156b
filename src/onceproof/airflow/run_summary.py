"""The summary of a judged run for its orchestrator, and the choice between a run and its retry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from onceproof.judging.report import read_document
from onceproof.past.record import record_run
from onceproof.runs.directory import RunDirectory
from onceproof.verdict import Grade

Summary = Mapping[str, Any]


def record_and_summarize(run: RunDirectory) -> dict[str, Any]:
    """Record a judged run in the verdict history, then return its summary.

    If recording fails, it raises, so that no summary exists of a run that the history lacks.
    """
    record_run(run, run.root.parents[1])
    document = read_document(run)
    summary = {
        name: document[name]
        for name in ("scenario", "seed", "subject", "verdict", "claims", "as_claimed")
    }
    return summary | {
        "reasons": document["reasons"][:3],
        "differences": document["differences"],
        "run": str(run.root),
        "name": document["plan"].get("run"),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def summary_of(run: RunDirectory) -> dict[str, Any] | None:
    """Return the summary of a run whose judge task ended before it returned one.

    None if the run has no verdict.
    """
    return record_and_summarize(run) if run.verdict.exists() else None


def is_decided(summary: Summary | None) -> bool:
    """Return whether a run's verdict is final; a run with UNKNOWN or no verdict is retried."""
    return summary is not None and summary["verdict"] != Grade.UNKNOWN


def deciding_summary(first: Summary | None, retry: Summary | None) -> Summary | None:
    """Return the summary that a night reports: the retry's only if the first is undecided."""
    return first if is_decided(first) or retry is None else retry
