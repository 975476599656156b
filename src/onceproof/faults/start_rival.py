"""Starts a second driver on the same checkpoint, while the first is held at a step.

The first goes on after the second has committed a batch and a reader has seen it, unaware that it
was replaced.
"""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import Ends, Mechanism, Proof, Scene, to_proof
from onceproof.faults.checks import Case, Check, is_the_halted, processes_of, whole
from onceproof.faults.needs import WAITING_DRIVER
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart

_COMMITS_WITHIN_S = 75.0  # the first is held for at most two minutes


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Start it; the proof is both drivers, alive when the second had committed a batch."""
    first, job = scene.halted, scene.job
    if first is None:
        raise StackError("no driver waits at the failpoint")
    before = job.committed()
    second = job.start_rival()

    def has_committed() -> bool:
        if not second.is_alive:
            raise StackError("the second driver ended before it had committed a batch")
        return job.committed() > before

    wait_for(has_committed, _COMMITS_WITHIN_S, "the second driver does not commit a batch")
    if not first.is_alive:
        raise StackError("the first driver ended before the second had committed a batch")
    job.let_readers_look()
    return {
        "first": to_proof([first]),
        "second": to_proof([second]),
        "committed_by_it": job.committed(),
    }


def _is_beside_the_first(case: Case) -> bool:
    (second,) = processes_of(case.proof["second"])
    start = case.drivers()[second]
    return second not in processes_of(case.proof["first"]) and whole(start.proof["beside"], 1) > 0


def _committed_the_batch(case: Case) -> bool:
    own = whole(case.proof["committed_by_it"])
    return bool(case.proof["moment"]["batch"] <= own <= case.proof["committed"])


_PROVES = (
    Check(
        "`first` is the process that was halted at the failpoint",
        lambda case: is_the_halted(case, case.proof["first"]),
    ),
    Check("`second` is the driver of an attempt started beside another", _is_beside_the_first),
    Check("`committed_by_it` is the batch of the moment or a later one", _committed_the_batch),
)
MECHANISM = Mechanism(
    {"start": "both drivers by pid, alive when the second had committed a batch"},
    ("driver",),
    strike,
    _PROVES,
    ends={"driver": Ends.EITHER},
    needs=(WAITING_DRIVER,),
)
