"""Whether two runs of one version were of the same code: a version may be what somebody wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

_RUNS_ON = ("onceproof", "pyspark")


def other_code(plan: Mapping[str, Any], first: Mapping[str, Any], name: str) -> str:
    """Return how the code of a run differs from that of the `first`, by its `name`; or nothing."""
    mine, its = _code_of(plan), _code_of(first)
    other = [one for one in sorted({*mine, *its}) if mine.get(one) != its.get(one)]
    if not other:
        return ""
    said = f"{', '.join(other)} {'is another' if len(other) == 1 else 'are others'}"
    return f"It is not of the same code as {name}, which has the same version: {said}"


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
        found |= deciding
    if isinstance(versions, Mapping):
        found |= {f"the version of {one}": versions.get(one) for one in _RUNS_ON}
    return found
