"""The run was over when the sink was read: every attempt dead, the sink recovered once more."""

from __future__ import annotations

import re
from collections import Counter

from onceproof.runs.evidence import Evidence
from onceproof.runs.records import Op, Outcome, Record
from onceproof.verdict import Finding, Grade


def ended(evidence: Evidence) -> Finding:
    """Say UNKNOWN if an attempt may still have been alive, or recovery has not run after the last.

    A write-ahead log applies its last batch late, and a zombie writes after the last sweep: read
    before, either makes a false red or a false green.
    """
    starts = evidence.of(Op.ATTEMPT_START)
    ends = [r for r in evidence.of(Op.ATTEMPT_END) if r.outcome is not Outcome.UNKNOWN]
    last_end = max((record.seq for record in ends), default=0)
    said = [
        *([] if starts else ["The job was never started"]),
        *_unpaired(starts, ends),
        *_by_nobody(evidence),
        *_since(evidence, last_end),
    ]
    if evidence.plan.fails_for_good:
        said += _not_as_it_was_to_fail(evidence, last_end)
    numbers = {"attempts": len(starts)}
    if said:
        return Finding("ended", Grade.UNKNOWN, "; ".join(said), numbers)
    if evidence.plan.fails_for_good:
        last = evidence.of(Op.RESTART)[-1]
        reason = f"The restart strategy gave up after attempt {last.attempt}, whose last words are"
        return Finding("ended", Grade.PASS, f"{reason}: {last.proof.get('said')}", numbers)
    reason = f"The sink was read after the end of attempt {starts[-1].attempt} and a recovery"
    return Finding("ended", Grade.PASS, reason, numbers)


def _unpaired(starts: list[Record], ends: list[Record]) -> list[str]:
    """Say if an attempt was seen to start and not to end after that, or the other way round."""
    started, ended = (Counter(str(record.attempt) for record in part) for part in (starts, ends))
    said = [
        f"Somebody saw the end of attempt {one}, which never started" for one in ended - started
    ]
    if alive := sorted(started - ended):
        said.append(f"Nobody saw the end of attempt {', '.join(alive)}: it may still be writing")
    elif starts and ends and starts[-1].seq > ends[-1].seq:
        said.append("An attempt was started once more after the last end that anybody saw")
    return said


def _by_nobody(evidence: Evidence) -> list[str]:
    """Say if the job went on while no attempt lived: then it runs where no fault reaches it."""
    living: set[int | None] = set()
    for record in evidence.history:
        if record.op is Op.ATTEMPT_START:
            living.add(record.attempt)
        elif record.op is Op.ATTEMPT_END:
            living.discard(record.attempt)
        elif record.op in (Op.BATCH_OFFSETS, Op.BATCH_COMMIT) and not living:
            return [
                f"Batch {record.batch} went on while no attempt lived: the job runs elsewhere too,"
                " where nothing here ends it (is it a cluster's or a container's own driver?)"
            ]
    return []


def _since(evidence: Evidence, last_end: int) -> list[str]:
    recovered = [one for one in evidence.of(Op.SINK_RECOVER) if one.seq > last_end]
    reads = [record.seq for record in evidence.of(Op.READ) if record.is_ok]
    if not recovered or not recovered[-1].is_ok:
        return ["The sink was not recovered after the last attempt had ended"]
    if sum(seq > recovered[-1].seq for seq in reads) < 2:
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
