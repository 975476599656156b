"""Readers read during the faults, after them, and twice at the end with the same result."""

from __future__ import annotations

from onceproof.judging.checkers.faults_landed import landed
from onceproof.judging.seen_alike import certainly_alike
from onceproof.judging.seen_rows import Shape
from onceproof.runs.evidence import Evidence
from onceproof.runs.ledger import content_digest, count_rows
from onceproof.runs.records import Op, Record
from onceproof.sinks import OUTPUTS, SINKS
from onceproof.verdict import Finding, Grade


def reads(evidence: Evidence) -> Finding:
    """Return UNKNOWN if nothing was read, no poll followed a fault, or the last two reads differ.

    A poll is also needed after the end of the job: rows that were visible and are gone by then were
    not committed. The last poll and the last two reads must have the rows of `observed/`.
    """
    seen = evidence.reads.count("select count(*) from reads where copies > 0")
    problems = [
        *([] if seen else ["The reader saw no row during the run"]),
        *_not_polled_while_running(evidence),
        *_polled_too_early(evidence),
        *_blind_since(evidence),
        *_not_at_rest(evidence),
    ]
    polls = len(evidence.polls)
    numbers = {"polls": polls, "rows_polled": seen}
    if problems:
        return Finding("reads", Grade.UNKNOWN, "; ".join(problems), numbers)
    reason = f"The sink was polled {polls:,} times, and its last two reads are equal"
    return Finding("reads", Grade.PASS, reason, numbers)


def _not_polled_while_running(evidence: Evidence) -> list[str]:
    first, last = evidence.first_planned, evidence.last_end
    if first is None or any(first <= poll.since < last for poll in evidence.polls):
        return []
    return ["No poll began while the job was writing a batch"]


def _polled_too_early(evidence: Evidence) -> list[str]:
    newest = evidence.polls[-1].since
    quiet = max((r.seq for r in evidence.of(Op.ATTEMPT_END, Op.SINK_RECOVER)), default=0)
    return [
        *(
            f"No poll began after {name} struck"
            for name, strike in landed(evidence).items()
            if newest < strike.seq
        ),
        *(
            ["No poll began after the last attempt ended and the sink was recovered"]
            if newest < quiet
            else []
        ),
    ]


def _blind_since(evidence: Evidence) -> list[str]:
    # Only if the job committed in that time did the reader miss anything.
    commits = [record.seq for record in evidence.of(Op.BATCH_COMMIT)]
    end = evidence.last_end

    def is_blind(strike: Record) -> bool:
        looked = any(strike.seq <= poll.since < end for poll in evidence.polls)
        return not looked and any(strike.seq < commit < end for commit in commits)

    return [
        f"No poll began between the strike of {name} and the end of the last attempt"
        for name, strike in landed(evidence).items()
        if is_blind(strike)
    ]


def _not_at_rest(evidence: Evidence) -> list[str]:
    finals = [record.proof for record in evidence.of(Op.READ) if record.is_ok]
    if len(finals) < 2:
        return ["The sink was not read twice at the end"]
    last, before = finals[-1], finals[-2]
    if (last["rows"], last["digest"]) != (before["rows"], before["digest"]):
        return ["The last two reads of the sink differ: it was still changing"]
    if not last["rows"]:
        return ["The last read of the sink has no rows"]
    if (kept := count_rows(evidence.run.observed)) != last["rows"]:
        return [f"The last read had {last['rows']:,} rows, but observed/ has {kept:,}"]
    if (polled := evidence.reads.count("select sum(copies) from reads")) != last["rows"]:
        return [f"The last poll saw {polled:,} rows, but the last read had {last['rows']:,}"]
    if last["digest"] != content_digest(evidence.run.observed):
        return ["observed/ does not have the rows of the last read"]
    return _other_rows(evidence)


_LAST = """
    select key, value, version, batch, attempt, sum(copies)::bigint from reads
    group by all having sum(copies) <> 0"""


def _other_rows(evidence: Evidence) -> list[str]:
    # Only readers of Onceproof's own sinks and outputs define what the texts of reads/ mean.
    if evidence.plan.output.sink not in SINKS.keys() | OUTPUTS.keys():
        return []
    planned = evidence.reference
    shape = Shape(planned.columns, planned.key, planned.version)
    if certainly_alike(evidence.reads, shape, evidence.run.observed):
        return []
    if shape.polled(evidence.reads.each(_LAST)) == shape.observed(evidence.run.observed):
        return []
    return ["The last poll saw other rows than observed/ has"]
