"""Restarts the job with another number of executors, so that state and partitions are reassigned.

The driver is killed; each later attempt requests that number of executors with one core.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.documents import write_whole
from onceproof.errors import StackError
from onceproof.faults import At, Draw, Ends, Mechanism, Proof, Scene, to_proof
from onceproof.faults.checks import DRIVER_ENDED, Case, Check, processes_of, whole
from onceproof.faults.kill_executor import executors
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart
from onceproof.schema import kinds

_COME_WITHIN_S = 90.0


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Rescale the job; the proof is the executors of the next attempt, all of them new."""
    before = executors(scene)
    wanted = _wanted(fault.how, len(before))
    if len(before) == wanted:
        raise StackError(f"the job already has {wanted} executors: nothing was changed")
    write_whole(scene.job.run.executors, str(wanted))
    dead = scene.job.kill_driver()

    def rescaled() -> list[Identity]:
        now = scene.job.executors()
        return now if len(now) == wanted and not set(now) & set(before) else []

    after = wait_for(rescaled, _COME_WITHIN_S, f"the next attempt does not get {wanted} executors")
    return {"dead": to_proof(dead), "executors_before": len(before), "executors": to_proof(after)}


def _wanted(how: Mapping[str, Any], before: int) -> int:
    found: int = how.get("executors", 2 if before == 1 else 1)
    return found


def _has_other_executors(case: Case) -> bool:
    after, before = processes_of(case.proof["executors"]), whole(case.proof["executors_before"], 1)
    is_new = set(after).isdisjoint(processes_of(case.proof["dead"]))
    return is_new and len(after) == _wanted(case.fault.how, before) != before


_PROVES = (
    *DRIVER_ENDED,
    Check(
        "there are as many `executors` as planned, and not `executors_before`",
        _has_other_executors,
    ),
)
_EXECUTORS = kinds.Field(
    kinds.whole(1, 4), "of rescale: the number; default: 1, or 2 if the job has 1", None
)
MECHANISM = Mechanism(
    {"rescale": "the executors of the next attempt, all of them new, in the requested number"},
    ("job",),
    strike,
    _PROVES,
    ends={"job": Ends.REPLACED},
    how={"rescale": {"executors": _EXECUTORS}},
    in_executors=("job",),
    draws=(Draw(1, "rescale", "job", At.SHARE, order=19),),
)
