"""Makes a step fail: the process that waits at a failpoint raises an error, and stays alive."""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import At, Draw, Ends, Mechanism, Proof, Scene, to_proof
from onceproof.faults.checks import Check, is_the_halted
from onceproof.faults.needs import WAITING_DRIVER, WAITING_TASK
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart

_RAISES_WITHIN_S = 10.0


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Make it raise; the proof is the mark that the process writes just before."""
    point, halted = scene.point, scene.halted
    if point is None or halted is None:
        raise StackError("no process waits at the failpoint")
    point.fail()
    wait_for(point.raised.exists, _RAISES_WITHIN_S, f"process {halted.pid} does not raise")
    return {"raised_in": to_proof([halted])}


_PROVES = (
    Check(
        "`raised_in` is the process that was halted at the failpoint",
        lambda case: is_the_halted(case, case.proof["raised_in"]),
    ),
)
MECHANISM = Mechanism(
    {"raise": "the process at the failpoint, and the mark that it raised"},
    ("driver", "task"),
    strike,
    _PROVES,
    ends={"driver": Ends.ATTEMPT},
    needs=(WAITING_TASK, WAITING_DRIVER),
    in_executors=("task",),
    draws=(
        Draw(1, "raise", "task", At.TASK, order=8),
        Draw(1, "raise", "driver", At.STEP, order=9),
    ),
)
