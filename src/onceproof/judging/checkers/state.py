"""The engine's state at the end is the state that the reference expects."""

from __future__ import annotations

from onceproof.checkpoint.log import newest
from onceproof.documents import count, field
from onceproof.errors import EvidenceError
from onceproof.judging.checkers.restarted import STATE, damaged
from onceproof.runs.evidence import Evidence, or_none
from onceproof.verdict import Finding, Grade, not_applicable


def state(evidence: Evidence) -> Finding:
    """Return FAIL if Spark's state differs from the reference's: rows were lost before any sink.

    State that cannot be read is UNKNOWN, unless a fault damaged it and the job failed for good as
    planned. If log, watermarks and state agree with the reference, differences in the output arose
    after the stream.
    """
    recomputed = evidence.recomputed
    if "state" not in recomputed:
        raise EvidenceError("recomputed.json has no field 'state'; recompute")
    if recomputed["state"] is None:
        if evidence.reference.keeps_state:
            raise EvidenceError("the pipeline keeps state, but recomputed.json has none; recompute")
        return not_applicable("state", _no_state(evidence, recomputed.get("rests_on_log", True)))
    found = field(recomputed, "state", dict, "recomputed.json")
    if "error" in found:
        return _unread(evidence, found["error"])
    where = "the state in recomputed.json"
    names = "batch", "expected", "found", "differ"
    batch, expected, there, differ = (count(found, name, where) for name in names)
    numbers = {"expected": expected, "found": there, "differ": differ}
    _, last = newest(evidence.run.checkpoint_log)
    if batch != last:
        reason = f"The state was read after batch {batch}, but batch {last} is the last; recompute"
        return Finding("state", Grade.UNKNOWN, reason, numbers)
    if differ:
        reason = (
            f"{differ:,} rows of the engine's state are not what the reference says"
            f" ({there:,} found, {expected:,} expected): the stream itself went wrong"
        )
        return Finding("state", Grade.FAIL, reason, numbers)
    if there != expected:
        raise EvidenceError(
            f"{where} has {there:,} rows for {expected:,} expected ones, but no difference"
        )
    reason = f"All {expected:,} rows of the engine's state are as the reference expects"
    return Finding("state", Grade.PASS, reason + _blame(evidence), numbers)


def _no_state(evidence: Evidence, rests_on_log: bool) -> str:
    if not rests_on_log:
        return "The reference does not define the state of the pipeline"
    return f"The pipeline keeps no state{_blame(evidence)}"


def _unread(evidence: Evidence, error: str) -> Finding:
    if evidence.plan.fails_for_good and STATE in damaged(evidence):
        reason = "A fault damaged the engine's state, and the job failed for good, as planned"
        return not_applicable("state", reason)
    raise EvidenceError(f"the engine's state could not be read: {error}")


def _blame(evidence: Evidence) -> str:
    """Return the origin of the differences, if there are any and the stream did not cause them."""
    compared = or_none(lambda: evidence.differences)
    if compared is None or not any(compared.counts.values()):
        return ""
    if or_none(lambda: damaged(evidence)):
        return ": but a fault damaged its checkpoint, so the stream may have caused the differences"
    return ": if the offset log is sound too, the sink caused the differences"
