"""What is told of a judged run to whoever had it carried out, and which of two tries counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from onceproof.judging.report import read_document
from onceproof.past.record import record_run
from onceproof.runs.directory import RunDirectory
from onceproof.verdict import Grade

Told = Mapping[str, Any]


def record_and_summarize(run: RunDirectory) -> dict[str, Any]:
    """Record a judged run and return what is told of it: nothing is that the history misses."""
    record_run(run, run.root.parents[1])
    document = read_document(run)
    told = {
        name: document[name]
        for name in ("scenario", "seed", "subject", "verdict", "claims", "as_claimed")
    }
    return told | {
        "reasons": document["reasons"][:3],
        "differences": document["differences"],
        "run": str(run.root),
        "name": document["plan"].get("run"),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def summary_of(run: RunDirectory) -> dict[str, Any] | None:
    """Return what is told of a run whose judge was ended before it did; None without a verdict."""
    return record_and_summarize(run) if run.verdict.exists() else None


def is_decided(told: Told | None) -> bool:
    """Whether what is told of a run is a verdict that stands; UNKNOWN and none are tried again."""
    return told is not None and told["verdict"] != Grade.UNKNOWN


def deciding_summary(first: Told | None, again: Told | None) -> Told | None:
    """Return what a night says of a run: its second try only where the first decided nothing."""
    return first if is_decided(first) or again is None else again
