"""The run was over when the sink was read: every attempt dead, the sink recovered once more."""

from __future__ import annotations

import re

from onceproof.evidence import Evidence
from onceproof.records import Op, Outcome
from onceproof.verdict import Finding, Grade


def ended(evidence: Evidence) -> Finding:
    """Say UNKNOWN if an attempt may still have been alive, or recovery has not run after the last.

    A write-ahead log applies its last batch late, and a zombie writes after the last sweep: read
    before, either makes a false red or a false green.
    """
    started = {record.attempt for record in evidence.of(Op.ATTEMPT_START)}
    ends = [r for r in evidence.of(Op.ATTEMPT_END) if r.outcome is not Outcome.UNKNOWN]
    alive = sorted(str(attempt) for attempt in started - {record.attempt for record in ends})
    last_start = max((record.seq for record in evidence.of(Op.ATTEMPT_START)), default=0)
    last_end = max((record.seq for record in ends), default=0)
    said = []
    if not started:
        said.append("The job was never started")
    for attempt in {record.attempt for record in ends} - started:
        said.append(f"Somebody saw the end of attempt {attempt}, which never started")
    if alive:
        said.append(f"Nobody saw the end of attempt {', '.join(alive)}: it may still be writing")
    elif last_start > last_end:
        said.append("An attempt was started once more after the last end that anybody saw")
    said += _since(evidence, last_end)
    if evidence.plan.fails_for_good:
        said += _not_as_it_was_to_fail(evidence, last_end)
    numbers = {"attempts": len(started)}
    if said:
        return Finding("ended", Grade.UNKNOWN, "; ".join(said), numbers)
    if evidence.plan.fails_for_good:
        last = evidence.of(Op.RESTART)[-1]
        reason = f"The restart strategy gave up after attempt {last.attempt}, whose last words are"
        return Finding("ended", Grade.PASS, f"{reason}: {last.proof.get('said')}", numbers)
    reason = f"The sink was read after the end of attempt {max(started, key=str)} and a recovery"
    return Finding("ended", Grade.PASS, reason, numbers)


def _since(evidence: Evidence, last_end: int) -> list[str]:
    recovered = [r.seq for r in evidence.of(Op.SINK_RECOVER) if r.is_ok and r.seq > last_end]
    reads = [record.seq for record in evidence.of(Op.READ) if record.is_ok]
    if not recovered:
        return ["The sink was not recovered after the last attempt had ended"]
    if sum(seq > recovered[0] for seq in reads) < 2:
        return ["The sink was not read twice after it had been recovered"]
    return []


def _not_as_it_was_to_fail(evidence: Evidence, last_end: int) -> list[str]:
    """Say if the strategy did not give up after the last attempt, or on a job that said another."""
    asked = [record for record in evidence.of(Op.RESTART) if record.seq > last_end]
    if not asked or asked[-1].proof["decided"] != "give up":
        return ["The job was to fail for good, and its restart strategy did not give up"]
    wanted, said = evidence.plan.last_words, str(asked[-1].proof.get("said", ""))
    if re.search(wanted, said):
        return []
    return [f"The job failed for good, and was to say {wanted!r} last, not {said!r}"]
