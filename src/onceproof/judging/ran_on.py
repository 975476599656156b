"""The environment that a run's job ran on: one document over all its attempts."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import field, read_object
from onceproof.errors import EvidenceError
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Record

_ONE_EACH = ("spark", "java", "python")
_BY_NAME = ("packages", "jars", "files")
# Imported files; a run that was struck earlier may have imported fewer.
_ONE_FILE = "file "
_IN_THE_DIGEST = ("spark", "java", "python", "jars", "unknown")
NOTHING: Mapping[str, Any] = {
    "digest": "",
    "spark": None,
    "java": None,
    "python": None,
    "packages": {},
    "jars": {},
    "files": {},
    "unknown": ["everything"],
}


def ran_on(evidence: Evidence) -> dict[str, Any]:
    """Return Spark, Java, Python, packages, jars and files of all attempts, and what is unknown.

    A name is unknown if no attempt recorded it. Values that differ between attempts are joined.
    """
    records = {one.attempt: one for one in evidence.of(Op.ATTEMPT_RAN_ON)}
    if not records:
        raise EvidenceError("the history has no record of what the job ran on")
    many = [_document(evidence, record) for record in records.values()]
    started = {one.attempt for one in evidence.of(Op.ATTEMPT_START)}
    unknown = set.intersection(*(set(one["unknown"]) for one in many))
    unknown |= {one for document in many for one in document["unknown"] if " " in one}
    unknown |= {f"attempt {number}" for number in started - records.keys()}
    found: dict[str, Any] = {name: _texts(one[name] for one in many) for name in _ONE_EACH}
    for name in _BY_NAME:
        values: dict[str, set[str]] = defaultdict(set)
        for document in many:
            for one, some in document[name].items():
                values[one] |= {some} if isinstance(some, str) else set(some)
        found[name] = {one: " ".join(sorted(some)) for one, some in sorted(values.items())}
    found["unknown"] = sorted(unknown)
    digested = {name: found[name] for name in _IN_THE_DIGEST}
    digested["unknown"] = [one for one in found["unknown"] if not one.startswith(_ONE_FILE)]
    return {"digest": _digest(digested), **found}


def versions_of(plan: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, str]:
    """Return the known versions of what a run's job ran on, and of Onceproof."""
    own = plan.get("versions")
    ours = own.get("onceproof") if isinstance(own, Mapping) else None
    versions = {name: found[name] for name in _ONE_EACH} | {"onceproof": ours}
    versions["pyspark"] = found["packages"].get("pyspark", "").partition(" ")[0]
    return {name: str(one) for name, one in versions.items() if one}


def _document(evidence: Evidence, record: Record) -> dict[str, Any]:
    path = evidence.run.ran_on / f"{record.attempt}.json"
    if file_digest(path) != record.proof.get("sha256"):
        raise EvidenceError(f"{path.name} is not the file recorded in the history")
    document, where = read_object(path), f"what attempt {record.attempt} ran on"
    for name in _BY_NAME:
        field(document, name, dict, where)
    for name in (*_ONE_EACH, "unknown"):
        field(document, name, list, where)
    return document


def _texts(many: Any) -> str | None:
    return " and ".join(sorted({str(one) for some in many for one in some})) or None


def _digest(document: Mapping[str, Any]) -> str:
    return f"sha256:{hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()}"
