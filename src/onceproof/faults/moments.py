"""Checks of every strike: that it happened at the moment that its trigger waits for.

The proof is compared with the history: the batches planned and committed at that time, and the
shares of the input acknowledged and committed.
"""

from __future__ import annotations

from onceproof.documents import read_object
from onceproof.failpoints import OF_THE_BATCH_BEFORE
from onceproof.faults import Ends
from onceproof.faults.checks import Case, Check, whole
from onceproof.faults.registry import ends_of
from onceproof.faults.triggers import TRIGGERS, kind_of, sentence
from onceproof.runs.evidence import Evidence, acknowledged
from onceproof.runs.records import Op, Record

_SLACK_S = 0.25  # another process may write a record between two reads of the clock
_LOGS = {"offsets": Op.BATCH_OFFSETS, "commits": Op.BATCH_COMMIT}


def _is_planned_trigger(case: Case) -> bool:
    return case.fault.trigger == sentence(case.fault.when)


def _is_at_the_trigger(case: Case) -> bool:
    when, moment = case.fault.when, case.proof["moment"]
    is_named = case.proof.get("failpoint") == when.get("failpoint")
    kind = kind_of(when)
    is_in_time = kind != "failpoint" and "batch" not in when
    is_in_time = is_in_time or whole(moment["batch"]) >= when.get("batch", 0)
    return bool(is_named and is_in_time) and TRIGGERS[kind].fits(when, moment)


def _is_as_marked(case: Case) -> bool:
    if "pid" not in case.proof["moment"]:
        return True
    mark = case.evidence.run.failpoints / f"{case.fault.name}.reached"
    return bool(read_object(mark) == case.proof["moment"])


def _is_of_its_batch(case: Case) -> bool:
    return bool(case.strike.batch == case.proof.get("batch", case.proof["moment"].get("batch")))


def newest(evidence: Evidence, seq: int) -> tuple[int, int]:
    """Return the newest batch planned and committed up to record `seq`, -1 for an empty log."""
    found: dict[str, set[int]] = {name: set() for name in _LOGS}
    for record in evidence.of(*_LOGS.values(), Op.CHECKPOINT_ANEW, Op.FAULT_STRIKE):
        if record.seq > seq or not record.is_ok or not evidence.is_mine(record):
            continue
        if record.op is Op.CHECKPOINT_ANEW:
            found = {name: set() for name in _LOGS}
        elif record.op is Op.FAULT_STRIKE:
            for name, batch in _lost(record):
                found[name].discard(batch)
        else:
            found["offsets" if record.op is Op.BATCH_OFFSETS else "commits"].add(record.batch or 0)
    return max(found["offsets"], default=-1), max(found["commits"], default=-1)


def _lost(record: Record) -> list[tuple[str, int]]:
    """Return the log and number of each batch whose file in the checkpoint a strike removed."""
    files = [
        name.split("/") for name, file in record.proof.get("files", {}).items() if not file["after"]
    ]
    return [(one[0], int(one[1])) for one in files if one[0] in _LOGS and one[1].isdigit()]


def _is_of_the_history(case: Case) -> bool:
    planned, committed = (whole(case.proof[name], -1) for name in ("planned", "committed"))
    now = newest(case.evidence, case.strike.seq)
    struck = filter(case.evidence.is_mine, case.evidence.of(Op.FAULT_STRIKE))
    damages = [one.proof for one in struck if "files" in one.proof]
    if any(len(one["files"]) < one["changed"] for one in damages):  # the list is cut off
        return planned <= now[0] and committed <= now[1]
    return (planned, committed) == now


def _is_within_the_batch(case: Case) -> bool:
    """Compare the batch of the moment with those planned and committed after the strike.

    A dead driver neither plans nor commits, so these are still those of the moment, unless there is
    a second driver.
    """
    batch, proof = case.proof["moment"].get("batch"), case.proof
    if batch is None:
        return True
    ends = ends_of(case.fault.verb, case.fault.target)
    if ends is Ends.CHECKPOINT:
        return whole(proof["batch"]) >= whole(batch)
    name, planned, committed = proof.get("failpoint"), proof["planned"], proof["committed"]
    has_rival = any(
        ends_of(one.verb, one.target) is Ends.EITHER for one in case.evidence.plan.faults
    )
    if ends is not Ends.DRIVER or has_rival:
        return bool(planned >= batch)
    if name == "commit_logged":
        return bool(planned == committed == batch)
    if name in OF_THE_BATCH_BEFORE:
        return bool(committed >= batch)
    return bool(committed < batch == planned)


def _is_of_the_input(case: Case) -> bool:
    moment, evidence = case.proof["moment"], case.evidence
    if "acknowledged" in moment:
        before = (one for one in evidence.of(Op.INPUT_PROGRESS) if one.seq < case.strike.seq)
        inputs = [one.name for one in evidence.plan.inputs]
        found = [acknowledged(one.proof, inputs) for one in before if one.is_ok]
        return moment["acknowledged"] in _shares(evidence, found)
    if "committed" in moment:
        before_it = (at for seq, at in evidence.positions if seq < case.strike.seq)
        return moment["committed"] in _shares(evidence, [sum(one.values()) for one in before_it])
    return True


def _is_begun_before(case: Case) -> bool:
    if "began" not in case.proof:
        return True  # recorded by an older version
    since, wall = whole(case.proof["began"]["since"]), float(case.proof["began"]["wall"])
    if since >= case.strike.seq:
        return False
    history = case.evidence.history  # a flow's history lacks records of other queries
    before = [0.0, *(one.wall for one in history if one.seq <= since)][-1]
    after = min((one.seq, one.wall) for one in history if one.seq > since)[1]
    return before <= wall <= after + _SLACK_S


def _shares(evidence: Evidence, counts: list[int]) -> set[float]:
    events = max(1, evidence.plan.events)
    return {round(count / events, 4) for count in (0, *counts)}


MOMENT = (
    Check("the plan's `trigger` is the sentence for its `when`", _is_planned_trigger),
    Check(
        "`moment` and `failpoint` are those that the planned trigger waits for", _is_at_the_trigger
    ),
    Check("`moment` is the mark that the process wrote at the failpoint", _is_as_marked),
    Check("the record's batch is that of the moment, or `batch` for damage", _is_of_its_batch),
    Check("`planned` and `committed` are the history's newest batches", _is_of_the_history),
    Check(
        "the batch of the moment was planned; if the fault ended the driver, it was the newest,"
        " and committed only if the step comes after its commit",
        _is_within_the_batch,
    ),
    Check(
        "`began` has the newest record and the time at the begin of the strike", _is_begun_before
    ),
    Check("the share of the input is in the history", _is_of_the_input),
)
