"""Whether a run counts: its evidence is that on which its row rests, and it is of the same code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import read_object
from onceproof.errors import EvidenceError
from onceproof.gates.demands import Demands, not_demanded
from onceproof.past.entry import Entry, evidence_digest
from onceproof.runs.directory import RunDirectory
from onceproof.verdict import Grade

_OURS = ("onceproof", "pyspark")
_VERSION = "the version of "
_SHOWN = 6  # another Spark has some two hundred other jars
_RAN_ON = ("spark", "java", "python")
# Of these a run may have imported less than another before it was struck.
_WHERE_BOTH = ("files", "packages")


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


def other_code(plan: Mapping[str, Any], first: Mapping[str, Any], name: str) -> str:
    """Return how the code of a run differs from that of the `first`, by its `name`; or nothing."""
    return _said("is not of the same code as", name, _others(_code_of(plan), _code_of(first)))


def other_ground(verdict: Mapping[str, Any], first: Mapping[str, Any], name: str) -> str:
    """Return how what a run's job ran on differs from that of the `first`, by their verdicts.

    An imported file is compared where both runs have imported one of its name.
    """
    mine, its = (one.get("ran_on") or {} for one in (verdict, first))
    other = _others(_ground_of(mine), _ground_of(its))
    for part in _WHERE_BOTH:
        ours, theirs = mine.get(part, {}), its.get(part, {})
        other += [one for one in sorted({*ours} & {*theirs}) if ours[one] != theirs[one]]
    return _said("did not run on the same as", name, other)


def _said(how: str, name: str, other: list[str]) -> str:
    if not other:
        return ""
    shown = sorted(other, key=lambda one: not one.startswith(_VERSION))[:_SHOWN]
    more = f" and {len(other) - _SHOWN} more" if len(other) > _SHOWN else ""
    what = f"{', '.join(shown)}{more} {'is another' if len(other) == 1 else 'are others'}"
    return f"It {how} {name}, which has the same version: {what}"


def _others(mine: Mapping[str, Any], its: Mapping[str, Any]) -> list[str]:
    return [one for one in sorted({*mine, *its}) if mine.get(one) != its.get(one)]


def _code_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the digests of a job's files and of what decides its expectation, and our versions.

    A run that is carried out again, or on another machine, finds the same file at another path.
    """
    files, versions = plan.get("subject_files"), plan.get("versions")
    found: dict[str, Any] = {}
    if isinstance(files, Mapping):
        for word, digest in files.items():
            found.setdefault(PurePath(word).name, set()).add(str(digest))
    if isinstance(deciding := plan.get("decided_by"), Mapping):
        found |= {f"{name} of its expectation": digest for name, digest in deciding.items()}
    if isinstance(versions, Mapping):
        found |= {f"{_VERSION}{one}": versions.get(one) for one in _OURS}
    return found


def _ground_of(ran_on: Mapping[str, Any]) -> dict[str, Any]:
    found = {f"{_VERSION}{name}": ran_on.get(name) for name in _RAN_ON}
    unknown = [one for one in ran_on.get("unknown", []) if not one.startswith("file ")]
    return {**found, **ran_on.get("jars", {}), "what is not known": unknown}
