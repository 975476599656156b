"""What the engine holds open at the end is what the reference says: the stream kept its part."""

from __future__ import annotations

from onceproof.checkpoint.log import newest
from onceproof.documents import count, field
from onceproof.errors import EvidenceError
from onceproof.judging.checkers.restarted import STATE, damaged
from onceproof.runs.evidence import Evidence, known
from onceproof.verdict import Finding, Grade, not_applicable


def state(evidence: Evidence) -> Finding:
    """Say FAIL if Spark's state differs from the reference's: rows were lost before any sink.

    State that could not be read is UNKNOWN, unless a fault has damaged it and the job failed for
    good, as it was to. Where log, watermarks and state agree with the reference, what differs in
    the output came after the stream.
    """
    told = evidence.recomputed
    if "state" not in told:
        raise EvidenceError("recomputed.json does not tell what the engine holds open")
    if told["state"] is None:
        if evidence.reference.keeps_state:
            raise EvidenceError("the pipeline keeps state, and recomputed.json tells of none")
        return not_applicable("state", _nothing_kept(evidence, told.get("rests_on_log", True)))
    found = field(told, "state", dict, "recomputed.json")
    if "error" in found:
        return _unread(evidence, found["error"])
    where = "the state in recomputed.json"
    names = "batch", "expected", "found", "differ"
    batch, expected, there, differ = (count(found, name, where) for name in names)
    numbers = {"expected": expected, "found": there, "differ": differ}
    _, last = newest(evidence.run.checkpoint_log)
    if batch != last:
        reason = f"The state was read after batch {batch}, and batch {last} was the last: recompute"
        return Finding("state", Grade.UNKNOWN, reason, numbers)
    if differ:
        reason = (
            f"{differ:,} rows of the engine's state are not what the reference says"
            f" ({there:,} found, {expected:,} expected): the stream itself went wrong"
        )
        return Finding("state", Grade.FAIL, reason, numbers)
    if there != expected:
        raise EvidenceError(
            f"{where} has {there:,} rows for {expected:,} expected, and none is said to differ"
        )
    reason = f"All {expected:,} rows of the engine's state are what the reference says"
    return Finding("state", Grade.PASS, reason + _blame(evidence), numbers)


def _nothing_kept(evidence: Evidence, rests_on_log: bool) -> str:
    if not rests_on_log:
        return "Nobody says what the pipeline should hold open"
    return f"The pipeline keeps no state{_blame(evidence)}"


def _unread(evidence: Evidence, error: str) -> Finding:
    if evidence.plan.fails_for_good and STATE in damaged(evidence):
        reason = "A fault has damaged the engine's state, and the job would not go on with it"
        return Finding("state", Grade.PASS, reason)
    raise EvidenceError(f"the engine's state could not be read: {error}")


def _blame(evidence: Evidence) -> str:
    """Return who made the differences, if there are any and the stream is clear of them."""
    compared = known(lambda: evidence.differences)
    if compared is None or not any(compared.counts.values()):
        return ""
    if known(lambda: damaged(evidence)):
        return (
            ": but a fault had damaged its checkpoint, so the stream may have made the differences"
        )
    return ": if the offset log holds too, the sink made the differences"
