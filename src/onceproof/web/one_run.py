"""One run's verdict as its folder and the verdict history tell it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from onceproof.documents import field, parse_object
from onceproof.errors import EvidenceError
from onceproof.past.entry import Entry
from onceproof.past.issues import Issue
from onceproof.run.directory import RunDirectory
from onceproof.web.places import is_inside
from onceproof.web.standing import Standing, standing

_SCHEMA = 1
_SHOWN = {
    "verdict": str, "as_claimed": bool, "reasons": list, "differences": dict, "counted": list,
    "allowed": list, "counts": dict, "faults": list, "anomalies": list, "run": str, "replay": str,
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A run to be shown: how it stands, its verdict document, and what is wrong with that.

    The document is empty where there is none, or none that may be believed; `trouble` then says so.
    """

    run: str
    standing: Standing
    document: Mapping[str, Any]
    issue: Issue | None = None
    link: str = ""
    trouble: str = ""


def judged_run(
    run: RunDirectory, entry: Entry | None, issues: Sequence[Issue], now: datetime, link: str
) -> Judged:
    """Return the verdict in a run's folder; one that the history does not confirm is unknown."""
    name = entry.run if entry else run.root.name
    try:
        document = _read(run, entry)
    except EvidenceError as error:
        return Judged(name, Standing.UNKNOWN, {}, trouble=str(error))
    if entry is None:
        trouble = "the verdict history does not know this run, so nothing rests on its verdict"
        return Judged(name, Standing.UNKNOWN, document, trouble=trouble)
    stands, issue = standing(entry, issues, now)
    return Judged(name, stands, document, issue, link)


def _read(run: RunDirectory, entry: Entry | None) -> Mapping[str, Any]:
    if not run.verdict.exists():
        raise EvidenceError("the run is not judged yet: there is no verdict.json in its folder")
    if not is_inside(run.verdict, run.root):
        raise EvidenceError("verdict.json is a link out of the run's folder, and is not read")
    data = run.verdict.read_bytes()
    if entry and hashlib.sha256(data).hexdigest() != entry.verdict_digest:
        raise EvidenceError(
            "verdict.json is not the one that the verdict history recorded: judge the run again"
        )
    return checked_document(data)


def checked_document(data: bytes) -> Mapping[str, Any]:
    """Return a verdict document of the schema that this page can show, or raise `EvidenceError`."""
    document = parse_object(data.decode("utf-8", errors="replace"), "verdict.json")
    if document.get("schema") != _SCHEMA:
        raise EvidenceError(
            f"verdict.json has schema {document.get('schema')!r}, and this page shows"
            f" {_SCHEMA}: judge the run again"
        )
    for name, kind in _SHOWN.items():
        field(document, name, kind, "verdict.json")
    return document
