"""Why a job failed, by its log and its checkpoint; for messages only, never as proof."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onceproof.checkpoint.archive import Archive
from onceproof.runs.flows import Flow

_TAIL_BYTES = 20_000
_MAX_CHARS = 500
_NO_ERROR = (" WARN ", " INFO ", "[Stage ")
_ERROR = re.compile(r"(Caused by: )?([A-Za-z_]\w*[.$])*[A-Za-z_]\w*(Error|Exception|Exit)\b:? ")


def failure_reason(why: str, archived: Sequence[tuple[Flow, Archive]], attempt: int) -> str:
    """Return why a run ended, with the newest batch of each query and the last error of the job."""
    parts = [why]
    for flow, archive in archived:
        planned, committed = archive.newest
        name = flow.run.query
        if planned < 0:
            parts.append(
                f"{name or 'it'} planned no batch in {flow.run.checkpoint.absolute()}: its query"
                f" must have that folder, {{checkpoint{name and f':{name}'}}} in its command, as"
                " checkpointLocation"
            )
        elif committed < 0:
            parts.append(f"{name or 'it'} planned batch {planned} and committed none")
    run = archived[0][0].run
    log = run.logs / f"driver-{attempt}.log"
    if error := last_error(log.read_bytes()[-_TAIL_BYTES:] if log.exists() else b""):
        parts.append(f"last error in logs/{log.name}: {error}")
    return "; ".join(parts)


def last_error(log: bytes) -> str:
    """Return the last line that names an error, otherwise the last line that is not empty.

    Stack traces are skipped, and warnings and progress bars unless there is nothing else. The last
    line of the log alone would not do: Spark prints the query's plan after an error.
    """
    text = log.decode(errors="replace").splitlines()
    lines = [one.strip() for one in text if one.strip() and not one[:1].isspace()]
    plain = [one for one in lines if not any(word in one for word in _NO_ERROR)]
    errors = [one for one in plain if _ERROR.match(one)]
    return (errors or plain or lines or [""])[-1][:_MAX_CHARS]
