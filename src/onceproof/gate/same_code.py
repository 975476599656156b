"""Whether two runs of one version were of the same code, and ran on the same things."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

_OURS = ("onceproof", "pyspark")
_VERSION = "the version of "
_SHOWN = 6  # another Spark has some two hundred other jars
_RAN_ON = ("spark", "java", "python")
# Of these a run may have imported less than another before it was struck.
_WHERE_BOTH = ("files", "packages")


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
