"""The run was over when the sink was read: every attempt ended, the sink recovered once more."""

from __future__ import annotations

import re
from collections import Counter

from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import IN_TURNS
from onceproof.runs.records import Op, Outcome, Record
from onceproof.verdict import Finding, Grade


def ended(evidence: Evidence) -> Finding:
    """Return UNKNOWN if an attempt may still have been alive, or the sink was not recovered last.

    A write-ahead log applies its last batch late, and a zombie writes after the last sweep: a read
    before either gives a false FAIL or a false PASS.
    """
    starts = evidence.of(Op.ATTEMPT_START)
    ends = [r for r in evidence.of(Op.ATTEMPT_END) if r.outcome is not Outcome.UNKNOWN]
    last_end = max((record.seq for record in ends), default=0)
    problems = [
        *([] if starts else ["The job was never started"]),
        *_unpaired(starts, ends),
        *_outside_attempts(evidence),
        *_not_read_since(evidence, last_end),
    ]
    if evidence.plan.lives == IN_TURNS:
        problems += _not_in_turns(evidence, starts, ends)
    if evidence.plan.fails_for_good:
        problems += _not_failed_as_planned(evidence, last_end)
    numbers = {"attempts": len(starts), **_turns(evidence, ends)}
    if problems:
        return Finding("ended", Grade.UNKNOWN, "; ".join(problems), numbers)
    if evidence.plan.fails_for_good:
        last = evidence.of(Op.RESTART)[-1]
        reason = f"The restart strategy gave up after attempt {last.attempt}, whose last message is"
        return Finding("ended", Grade.PASS, f"{reason}: {last.proof.get('said')}", numbers)
    reason = f"The sink was read after the end of attempt {starts[-1].attempt} and a recovery"
    if "turns" in numbers:
        reason += f"; {numbers['turns']:,} turns ended with exit code 0, the last had all input"
    return Finding("ended", Grade.PASS, reason, numbers)


def _unpaired(starts: list[Record], ends: list[Record]) -> list[str]:
    started, ended = (Counter(str(record.attempt) for record in part) for part in (starts, ends))
    problems = [
        f"The history has the end of attempt {one}, which never started" for one in ended - started
    ]
    if alive := sorted(started - ended):
        problems.append(f"Attempt {', '.join(alive)} has no recorded end: it may still be writing")
    elif starts and ends and starts[-1].seq > ends[-1].seq:
        problems.append("An attempt was started after the last recorded end")
    return problems


def _outside_attempts(evidence: Evidence) -> list[str]:
    # A job that goes on without an attempt runs where no fault reaches it.
    running: set[int | None] = set()
    for record in evidence.history:
        if record.op is Op.ATTEMPT_START:
            running.add(record.attempt)
        elif record.op is Op.ATTEMPT_END:
            running.discard(record.attempt)
        elif record.op in (Op.BATCH_OFFSETS, Op.BATCH_COMMIT) and not running:
            return [
                f"Batch {record.batch} made progress while no attempt was running: the job also"
                " runs elsewhere, out of reach of faults (a driver in a cluster or container?)"
            ]
    return []


def _not_read_since(evidence: Evidence, last_end: int) -> list[str]:
    recovered = [one for one in evidence.of(Op.SINK_RECOVER) if one.seq > last_end]
    reads = [record.seq for record in evidence.of(Op.READ) if record.is_ok]
    if not recovered or not recovered[-1].is_ok:
        return ["The sink was not recovered after the last attempt ended"]
    if sum(seq > recovered[-1].seq for seq in reads) < 2:
        return ["The sink was not read twice after its last recovery"]
    return []


def _turns(evidence: Evidence, ends: list[Record]) -> dict[str, int]:
    is_in_turns = evidence.plan.lives == IN_TURNS
    return {"turns": sum(one.is_ok for one in ends)} if is_in_turns else {}


def _not_in_turns(evidence: Evidence, starts: list[Record], ends: list[Record]) -> list[str]:
    # A crash that is taken for a turn would be a failure that nothing explains.
    problems = [
        f"Attempt {one.attempt} is recorded as a turn, which ends with exit code 0, but has"
        f" {one.proof.get('exit_code', 'none')}"
        for one in ends
        if one.is_ok and one.proof.get("exit_code") != 0
    ]
    if evidence.plan.fails_for_good or not ends:
        return problems
    last = ends[-1]
    if not last.is_ok:
        problems.append(f"The last attempt, {last.attempt}, did not end with exit code 0")
    sent = max((record.seq for record in evidence.of(Op.INPUT_PROGRESS)), default=0)
    if not any(one.attempt == last.attempt and one.seq > sent for one in starts):
        problems.append(f"The last attempt, {last.attempt}, began before all input was sent")
    return problems


def _not_failed_as_planned(evidence: Evidence, last_end: int) -> list[str]:
    asked = [record for record in evidence.of(Op.RESTART) if record.seq > last_end]
    if not asked or asked[-1].proof["decided"] != "give up":
        return ["The job was planned to fail for good, but its restart strategy did not give up"]
    wanted, message = evidence.plan.last_words, str(asked[-1].proof.get("said", ""))
    if re.search(wanted, message):
        return []
    return [f"The job failed for good with the last message {message!r}, not {wanted!r} as planned"]
