"""The checks of the checkpoint before each start found the damage that faults did."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from onceproof.documents import field
from onceproof.judging.checkers.faults_landed import landed
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade, not_applicable

STATE = "state"
_DAMAGE = "damage"


def restarted(evidence: Evidence) -> Finding:
    """Return UNKNOWN if a fault damaged the checkpoint and the next check found nothing wrong.

    Problems that no fault caused are reported and decide nothing: a kill may leave a partial file,
    which Spark handles.
    """
    starts = evidence.of(Op.ATTEMPT_START)
    checks = {record.seq: _check(record) for record in starts}
    missed, remarks = [], []
    struck = filter(evidence.is_mine, landed(evidence).values())
    strikes = [record for record in struck if _DAMAGE in record.proof]
    for strike in strikes:
        name = f"{strike.actor} ({strike.proof[_DAMAGE]})"
        after = next((seq for seq in checks if seq > strike.seq), None)
        if after is None:
            remarks.append(f"after {name} the job was not started again")
        elif not checks[after]:
            missed.append(f"{name} damaged the checkpoint, and the check before the next start")
        else:
            remarks.append(f"the check before the start after {name} found: {checks[after][0]}")
    numbers = {
        "starts": len(starts),
        "damaged": len(strikes),
        "troubled": sum(map(bool, checks.values())),
    }
    if missed:
        reason = "; ".join(f"{one} found nothing wrong" for one in missed)
        return Finding("restarted", Grade.UNKNOWN, reason, numbers)
    others = numbers["troubled"] - sum(one.startswith("the check") for one in remarks)
    if others:
        remarks.append(f"{others:,} other start(s) had problems in the checkpoint too")
    if not remarks and not any(map(_has_check, starts)):
        why = "The job was not restarted: no checkpoint was checked"
        return not_applicable("restarted", why, numbers)
    reason = "; ".join(remarks) or "The checks of the checkpoint before restarts found no problem"
    return Finding("restarted", Grade.PASS, reason[:1].upper() + reason[1:], numbers)


def _has_check(start: Record) -> bool:
    return start.attempt != 1 and "beside" not in start.proof  # a rival's start has none either


def _check(record: Record) -> list[str]:
    if not _has_check(record):
        return []
    return list(map(str, field(record.proof, "checkpoint", list, f"attempt {record.attempt}")))


def damaged(evidence: Evidence) -> set[str]:
    """Return the files of the checkpoint that faults damaged, as their proofs name them.

    Folders of state are included: they may be gone with their files.
    """
    files = {
        PurePath(name)
        for record in landed(evidence).values()
        for name in record.proof.get("files", {})
        if _DAMAGE in record.proof and evidence.is_mine(record)
    }
    folders = {above for file in files for above in file.parents if STATE in above.parts}
    return {str(path) for path in files | folders}


def unexplained(problems: Iterable[str], files: set[str]) -> list[str]:
    """Return the problems that do not name a file damaged by a fault."""
    return [one for one in problems if not files & {word.strip(",:;") for word in one.split()}]
