"""Readers read: during the faults, after them, and at the end twice with the same result."""

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
    """Say UNKNOWN if nothing was read, no poll came after a fault, or two last reads disagree.

    Polls are also needed in the quiet at the end: what was seen and is gone by then was not real.
    What the last of them saw, and what was read twice, must be the rows of `observed/`.
    """
    seen = evidence.reads.count("select count(*) from reads where copies > 0")
    said = [
        *([] if seen else ["The reader saw no row in the whole run"]),
        *_not_polled_meanwhile(evidence),
        *_polled_too_early(evidence),
        *_blind_since(evidence),
        *_not_at_rest(evidence),
    ]
    polls = len(evidence.polls)
    numbers = {"polls": polls, "rows_polled": seen}
    if said:
        return Finding("reads", Grade.UNKNOWN, "; ".join(said), numbers)
    reason = f"The sink was read {polls:,} times during the run, and at the end twice alike"
    return Finding("reads", Grade.PASS, reason, numbers)


def _not_polled_meanwhile(evidence: Evidence) -> list[str]:
    """Say if nobody looked while the job wrote: all that readers must not see went unseen."""
    first, last = evidence.first_planned, evidence.last_end
    if first is None or any(first <= poll.since < last for poll in evidence.polls):
        return []
    return ["No poll began while the job had a batch under way and lived"]


def _polled_too_early(evidence: Evidence) -> list[str]:
    newest = evidence.polls[-1].since
    quiet = max((r.seq for r in evidence.of(Op.ATTEMPT_END, Op.SINK_RECOVER)), default=0)
    return [
        *(
            f"No poll began after {name} had struck"
            for name, strike in landed(evidence).items()
            if newest < strike.seq
        ),
        *(
            ["No poll began after the last attempt had ended and the sink was recovered"]
            if newest < quiet
            else []
        ),
    ]


def _blind_since(evidence: Evidence) -> list[str]:
    """Say if no poll began between a strike and the end, though the job committed meanwhile."""
    commits = [record.seq for record in evidence.of(Op.BATCH_COMMIT)]
    end = evidence.last_end

    def is_blind(strike: Record) -> bool:
        looked = any(strike.seq <= poll.since < end for poll in evidence.polls)
        return not looked and any(strike.seq < commit < end for commit in commits)

    return [
        f"The reader was blind from the strike of {name} until the last attempt had ended"
        for name, strike in landed(evidence).items()
        if is_blind(strike)
    ]


def _not_at_rest(evidence: Evidence) -> list[str]:
    finals = [record.proof for record in evidence.of(Op.READ) if record.is_ok]
    if len(finals) < 2:
        return ["The sink was not read twice at the end"]
    last, before = finals[-1], finals[-2]
    if (last["rows"], last["digest"]) != (before["rows"], before["digest"]):
        return ["The last two reads of the sink do not agree: it had not come to rest"]
    if not last["rows"]:
        return ["Nothing was read at the end"]
    if (kept := count_rows(evidence.run.observed)) != last["rows"]:
        return [f"The last read had {last['rows']:,} rows, and observed/ holds {kept:,}"]
    if (polled := evidence.reads.count("select sum(copies) from reads")) != last["rows"]:
        return [f"The last poll saw {polled:,} rows, and the last read had {last['rows']:,}"]
    if last["digest"] != content_digest(evidence.run.observed):
        return ["observed/ does not hold the rows of the last read"]
    return _seen_others(evidence)


_LAST = """
    select key, value, version, batch, attempt, sum(copies)::bigint from reads
    group by all having sum(copies) <> 0"""


def _seen_others(evidence: Evidence) -> list[str]:
    """Say if the last poll saw other rows than were read at the end.

    What the texts of `reads/` mean only the readers of Onceproof's own sinks and outputs define.
    """
    if evidence.plan.output.sink not in SINKS.keys() | OUTPUTS.keys():
        return []
    planned = evidence.reference
    shape = Shape(planned.columns, planned.key, planned.version)
    if certainly_alike(evidence.reads, shape, evidence.run.observed):
        return []
    if shape.polled(evidence.reads.each(_LAST)) == shape.observed(evidence.run.observed):
        return []
    return ["The rows that the last poll saw are not those of observed/"]
