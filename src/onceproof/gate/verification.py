"""Whether the evidence of a run is still that on which its row rests, and what it is a run of."""

from __future__ import annotations

from pathlib import Path

from onceproof.digests import file_digest
from onceproof.documents import read_object
from onceproof.errors import EvidenceError
from onceproof.gate.demands import Demands, not_demanded
from onceproof.gate.same_code import other_code, other_ground
from onceproof.past.digest import evidence_digest
from onceproof.past.entry import Entry
from onceproof.run.directory import RunDirectory
from onceproof.verdict import Grade


def trouble_of(entry: Entry) -> str:
    """Return what is wrong with a run's evidence, empty if it is as it was first judged.

    A run that nobody has judged has no evidence yet; its row says so itself.
    """
    if not entry.is_judged:
        return ""
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
    except EvidenceError as error:
        return f"Its evidence cannot be read: {error}"
    return ""


def other_of(entry: Entry, demands: Demands | None, first: Entry) -> str:
    """Return why a run does not count together with the `first`, or shows nothing of the scenario.

    The plan tells whether the run was one of the scenario that demands this, and of which code. An
    UNKNOWN run may have ended before its job ran on anything. Where no evidence is left, there is
    nothing to compare: that is trouble of its own.
    """
    run, its = (RunDirectory(Path(one.directory)) for one in (entry, first))
    try:
        plan = read_object(run.plan)
        said = not_demanded(plan, demands) if demands else ""
        said = said or other_code(plan, read_object(its.plan), first.run)
        if said or entry.verdict == Grade.UNKNOWN:
            return said
        if not entry.ran_on:
            return "Nobody recorded what its job ran on: run the scenario again"
        documents = read_object(run.verdict), read_object(its.verdict)
        return other_ground(*documents, first.run)
    except EvidenceError:
        return ""
