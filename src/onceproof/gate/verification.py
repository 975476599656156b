"""Whether the evidence of a run is still that on which its row in the history rests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import read_object
from onceproof.errors import EvidenceError
from onceproof.gate.demands import Demands, not_demanded
from onceproof.gate.same_code import other_code
from onceproof.run import RunDirectory
from onceproof.verdicts.digest import evidence_digest
from onceproof.verdicts.entry import Entry


def trouble_of(entry: Entry, demands: Demands | None = None, first: Entry | None = None) -> str:
    """Return what is wrong with a run's evidence, empty if it is as it was first judged.

    The plan is part of it, so it tells whether the run was one of the scenario that demands this,
    and of the same code as the `first` of those that count together.
    """
    if entry.pruned:
        return "Its evidence was pruned"
    run = RunDirectory(Path(entry.directory))
    if not run.root.is_dir():
        return f"Its evidence is gone: there is no {entry.directory}"
    try:
        if evidence_digest(run) != entry.evidence:
            return "Its evidence was altered after it was first judged"
        if file_digest(run.verdict) != entry.verdict_digest:
            return "Its verdict.json is not the one that was recorded"
        plan = read_object(run.plan)
        said = not_demanded(plan, demands) if demands else ""
        return said or (_beside(plan, first) if first else "")
    except EvidenceError as error:
        return f"Its evidence cannot be read: {error}"


def _beside(plan: Mapping[str, Any], first: Entry) -> str:
    try:
        other = read_object(RunDirectory(Path(first.directory)).plan)
    except EvidenceError:
        return ""  # which is the trouble of the first
    return other_code(plan, other, first.run)
