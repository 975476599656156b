"""Why a job came to nothing, as its log and its checkpoint tell: for people, never as proof."""

from __future__ import annotations

import re

from onceproof.checkpoint.archive import Archive
from onceproof.runs.directory import RunDirectory

_TAIL_BYTES = 20_000
_SAID = 500
_NO_MATTER = (" WARN ", " INFO ", "[Stage ")
_ERROR = re.compile(r"(Caused by: )?([A-Za-z_]\w*[.$])*[A-Za-z_]\w*(Error|Exception|Exit)\b:? ")


def explained(why: str, run: RunDirectory, archive: Archive, attempt: int) -> str:
    """Return why a run ended, with how far its job had got and what it said last."""
    planned, committed = archive.newest
    told = [why]
    if planned < 0:
        told.append(
            f"it never began a batch in {run.checkpoint.absolute()}: its query needs that folder,"
            " {checkpoint} in its command, as checkpointLocation"
        )
    elif committed < 0:
        told.append(f"it began batch {planned} and never committed one")
    log = run.logs / f"driver-{attempt}.log"
    if said := last_words(log.read_bytes()[-_TAIL_BYTES:] if log.exists() else b""):
        told.append(f"its last words in logs/{log.name}: {said}")
    return "; ".join(told)


def last_words(log: bytes) -> str:
    """Return the last line that names an error, else the last that says anything.

    No line of a stack trace, of a mere warning or of a bar that shows progress. What Spark says
    behind an error is its plan.
    """
    lines = log.decode(errors="replace").splitlines()
    told = [one.strip() for one in lines if one.strip() and not one[:1].isspace()]
    plain = [one for one in told if not any(word in one for word in _NO_MATTER)]
    errors = [one for one in plain if _ERROR.match(one)]
    return (errors or plain or told or [""])[-1][:_SAID]
