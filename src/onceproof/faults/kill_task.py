"""Kills the Python process of a task at one of its steps; Spark runs the task again."""

from __future__ import annotations

import signal

from onceproof.errors import StackError
from onceproof.faults import At, Draw, Mechanism, Proof, Scene, to_proof
from onceproof.faults.checks import PROOF_DEAD, Check, is_the_halted
from onceproof.faults.needs import WAITING_TASK
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart

_DIES_WITHIN_S = 10.0


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Kill it; the proof is the dead process."""
    halted = scene.halted
    with scene.job.deaths:
        if halted is None or not halted.send(signal.SIGKILL):
            raise StackError("no task waits at the failpoint")
        wait_for(lambda: not halted.is_alive, _DIES_WITHIN_S, f"process {halted.pid} does not end")
    return {"dead": to_proof([halted])}


_PROVES = (
    Check(
        "`dead` is the process that was halted at the failpoint",
        lambda case: is_the_halted(case, case.proof["dead"]),
    ),
)
MECHANISM = Mechanism(
    {"kill": PROOF_DEAD},
    ("task",),
    strike,
    _PROVES,
    needs=(WAITING_TASK,),
    in_executors=("task",),
    draws=(Draw(3, "kill", "task", At.TASK, order=7),),
)
