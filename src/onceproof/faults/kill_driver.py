"""Kills the driver, all processes of its session at once; or the whole job, executors and all.

Or asks the driver to end, as whoever deploys a job does.

Executors that are not struck end when they miss their driver. The supervisor starts it again.
"""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.failpoints import TASK
from onceproof.faults import At, Draw, Ends, Mechanism, Proof, Scene, told
from onceproof.faults.checks import DRIVER_ENDED, SAYS_DEAD, SAYS_ENDED
from onceproof.runs.plan import FaultPart


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Do it; the proof is who died, among them who waits at a failpoint of the driver."""
    job = scene.job
    if fault.target == "job":
        dead = job.kill_all()
    else:
        dead = job.stop_driver() if fault.verb == "stop" else job.kill_driver()
    if not dead:
        raise StackError("no driver lived that could be killed")
    at_a_step = scene.point is not None and scene.point.name not in TASK
    if at_a_step and scene.halted and scene.halted not in dead:
        raise StackError(
            f"process {scene.halted.pid} at the failpoint had died before, and another driver died"
        )
    return {"dead": told(dead)}


MECHANISM = Mechanism(
    {"kill": SAYS_DEAD},
    ("driver", "job"),
    strike,
    DRIVER_ENDED,
    ends={"driver": Ends.DRIVER, "job": Ends.DRIVER},
    draws=(
        Draw(6, "kill", "driver", At.STEP, order=1),
        Draw(3, "kill", "driver", At.SHARE, order=2),
        Draw(2, "kill", "job", At.SHARE, order=3),
    ),
)
STOP = Mechanism(
    {"stop": SAYS_ENDED}, ("driver",), strike, DRIVER_ENDED, ends={"driver": Ends.DRIVER}
)
