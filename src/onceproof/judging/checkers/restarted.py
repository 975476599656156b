"""What the checks of the checkpoint said before each start, beside the damage that faults did."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from onceproof.documents import field
from onceproof.judging.checkers.faults_landed import landed
from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade

STATE = "state"
_DAMAGE = "damage"


def restarted(evidence: Evidence) -> Finding:
    """Say UNKNOWN where a fault damaged the checkpoint and the check before the next start did not.

    What the check says where nobody damaged anything is told and decides nothing: a kill may leave
    a file half made, which Spark takes care of.
    """
    starts = evidence.of(Op.ATTEMPT_START)
    told = {record.seq: _told(record) for record in starts}
    missed, shown = [], []
    strikes = [record for record in landed(evidence).values() if _DAMAGE in record.proof]
    for strike in strikes:
        name = f"{strike.actor} ({strike.proof[_DAMAGE]})"
        after = next((seq for seq in told if seq > strike.seq), None)
        if after is None:
            shown.append(f"after {name} the job was not started again")
        elif not told[after]:
            missed.append(f"{name} damaged the checkpoint, and the check before the next start")
        else:
            shown.append(f"before the start after {name} the check said: {told[after][0]}")
    numbers = {
        "starts": len(starts),
        "damaged": len(strikes),
        "troubled": sum(map(bool, told.values())),
    }
    if missed:
        reason = "; ".join(f"{one} found nothing wrong" for one in missed)
        return Finding("restarted", Grade.UNKNOWN, reason, numbers)
    others = numbers["troubled"] - sum("the check said" in one for one in shown)
    if others:
        shown.append(f"the check found something before {others:,} other start(s) too")
    clean = "Before each start the check found nothing wrong"
    nothing = "The job was never started, so nothing was checked"
    reason = "; ".join(shown) or (clean if starts else nothing)
    return Finding("restarted", Grade.PASS, reason[:1].upper() + reason[1:], numbers)


def _told(record: Record) -> list[str]:
    """Return what the check before a start said; the first start and a rival have none."""
    if record.attempt == 1 or "beside" in record.proof:
        return []
    return list(map(str, field(record.proof, "checkpoint", list, f"attempt {record.attempt}")))


def damaged(evidence: Evidence) -> set[str]:
    """Return the files of the checkpoint that faults have damaged, as their proofs name them.

    Of state its folders too, which may be gone with them.
    """
    files = {
        PurePath(name)
        for record in landed(evidence).values()
        for name in record.proof.get("files", {})
        if _DAMAGE in record.proof
    }
    folders = {above for file in files for above in file.parents if STATE in above.parts}
    return {str(path) for path in files | folders}


def unexplained(troubles: Iterable[str], files: set[str]) -> list[str]:
    """Return the troubles that name no file which a fault has damaged."""
    return [one for one in troubles if not files & {word.strip(",:;") for word in one.split()}]
