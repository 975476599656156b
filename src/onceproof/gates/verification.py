"""Whether a run counts: its evidence is unchanged since its verdict, and its code is the same."""

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
_SHOWN = 6  # another version of Spark differs in some two hundred jars
_RAN_ON = ("spark", "java", "python")
# A run that was struck earlier may have imported fewer of these.
_WHERE_BOTH = ("files", "packages")


def trouble_of(entry: Entry) -> str:
    """Return what is wrong with a run's evidence; empty if it is as first judged.

    A run that was not judged yet has no evidence; its row shows that.
    """
    if not entry.is_judged:
        return ""
    if entry.pruned:
        return "Its evidence was pruned"
    run = RunDirectory(Path(entry.directory))
    if not run.root.is_dir():
        return f"Its evidence is gone: no directory {entry.directory}"
    try:
        if evidence_digest(run) != entry.evidence:
            return "Its evidence was altered after it was first judged"
        if file_digest(run.verdict) != entry.verdict_digest:
            return "Its verdict.json is not the recorded one"
    except EvidenceError as error:
        return f"Its evidence cannot be read: {error}"
    return ""


def other_of(entry: Entry, demands: Demands | None, first: Entry) -> str:
    """Return why a run does not count together with the `first`, or not for the scenario.

    The plan shows whether the run has the scenario's demands, and its code. An UNKNOWN run may have
    ended before its job started. Without evidence nothing is compared: `trouble_of` reports that.
    """
    run, its = (RunDirectory(Path(one.directory)) for one in (entry, first))
    try:
        plan = read_object(run.plan)
        difference = not_demanded(plan, demands) if demands else ""
        difference = difference or other_code(plan, read_object(its.plan), first.run)
        if difference or entry.verdict == Grade.UNKNOWN:
            return difference
        if not entry.ran_on:
            return "It has no record of what its job ran on; run the scenario again"
        documents = read_object(run.verdict), read_object(its.verdict)
        return other_ground(*documents, first.run)
    except EvidenceError:
        return ""


def other_code(plan: Mapping[str, Any], first: Mapping[str, Any], name: str) -> str:
    """Return how a run's code differs from that of the `first`, called `name`; empty if equal."""
    return _sentence("is not of the same code as", name, _others(_code_of(plan), _code_of(first)))


def other_ground(verdict: Mapping[str, Any], first: Mapping[str, Any], name: str) -> str:
    """Return how the environment of a run's job differs from that of the `first`; empty if equal.

    An imported file is compared only if both runs imported one of this name.
    """
    mine, its = (one.get("ran_on") or {} for one in (verdict, first))
    other = _others(_ground_of(mine), _ground_of(its))
    for part in _WHERE_BOTH:
        ours, theirs = mine.get(part, {}), its.get(part, {})
        other += [one for one in sorted({*ours} & {*theirs}) if ours[one] != theirs[one]]
    return _sentence("did not run on the same as", name, other)


def _sentence(how: str, name: str, other: list[str]) -> str:
    if not other:
        return ""
    shown = sorted(other, key=lambda one: not one.startswith(_VERSION))[:_SHOWN]
    more = f" and {len(other) - _SHOWN} more" if len(other) > _SHOWN else ""
    what = f"{', '.join(shown)}{more} {'differs' if len(other) == 1 else 'differ'}"
    return f"It {how} {name}, which has the same version: {what}"


def _others(mine: Mapping[str, Any], its: Mapping[str, Any]) -> list[str]:
    return [one for one in sorted({*mine, *its}) if mine.get(one) != its.get(one)]


def _code_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the digests of a job's files and of its expectation, and our versions.

    Files are known by name, since their paths differ between machines and replays.
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
    return {**found, **ran_on.get("jars", {}), "what is unknown": unknown}
