"""Restarts the job with another number of executors: state and partitions are dealt out anew.

The driver is killed; each later attempt asks for so many executors of one core.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.documents import write_whole
from onceproof.errors import StackError
from onceproof.faults import At, Draw, Ends, Mechanism, Proof, Scene, told
from onceproof.faults.checks import DRIVER_ENDED, Case, Check, people, whole
from onceproof.faults.kill_executor import executors
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart
from onceproof.schema import kinds

_COME_WITHIN_S = 90.0


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Do it; the proof is how many executors the next attempt has, and that all are new."""
    before = executors(scene)
    wanted = _wanted(fault.how, len(before))
    if len(before) == wanted:
        raise StackError(f"the job has {wanted} executors already: nothing would change")
    write_whole(scene.job.run.executors, str(wanted))
    dead = scene.job.kill_driver()

    def rescaled() -> list[Identity]:
        now = scene.job.executors()
        return now if len(now) == wanted and not set(now) & set(before) else []

    after = wait_for(rescaled, _COME_WITHIN_S, f"the next attempt has not {wanted} executors")
    return {"dead": told(dead), "executors_before": len(before), "executors": told(after)}


def _wanted(how: Mapping[str, Any], before: int) -> int:
    found: int = how.get("executors", 2 if before == 1 else 1)
    return found


def _has_other_executors(case: Case) -> bool:
    after, before = people(case.proof["executors"]), whole(case.proof["executors_before"], 1)
    is_new = set(after).isdisjoint(people(case.proof["dead"]))
    return is_new and len(after) == _wanted(case.fault.how, before) != before


_PROVES = (
    *DRIVER_ENDED,
    Check(
        "`executors` are as many as planned, another number than `executors_before`",
        _has_other_executors,
    ),
)
_EXECUTORS = kinds.Field(
    kinds.whole(1, 4), "of rescale: how many; left out: 1, or 2 where it has 1", None
)
MECHANISM = Mechanism(
    {"rescale": "the executors of the next attempt, as many as were asked for, all of them new"},
    ("job",),
    strike,
    _PROVES,
    ends={"job": Ends.REPLACED},
    how={"rescale": {"executors": _EXECUTORS}},
    in_executors=("job",),
    draws=(Draw(1, "rescale", "job", At.SHARE, order=19),),
)
