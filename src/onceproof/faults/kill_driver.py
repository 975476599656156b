"""Kills or stops the driver, all processes of its session at once, or kills it with all executors.

`stop` sends SIGTERM, as a deployment does. Executors that are not struck end by themselves when
they lose their driver. The supervisor starts the next attempt.
"""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.failpoints import TASK
from onceproof.faults import At, Draw, Ends, Mechanism, Proof, Scene, to_proof
from onceproof.faults.checks import DRIVER_ENDED, PROOF_DEAD, PROOF_ENDED
from onceproof.runs.plan import FaultPart


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Kill or stop it; the proof is the dead processes, with the one at a driver's failpoint."""
    job = scene.job
    if fault.target == "job":
        dead = job.kill_all()
    else:
        dead = job.stop_driver() if fault.verb == "stop" else job.kill_driver()
    if not dead:
        raise StackError("no driver was alive to be killed")
    at_a_step = scene.point is not None and scene.point.name not in TASK
    if at_a_step and scene.halted and scene.halted not in dead:
        raise StackError(
            f"process {scene.halted.pid} at the failpoint had ended before the kill, which hit"
            " another driver"
        )
    return {"dead": to_proof(dead)}


MECHANISM = Mechanism(
    {"kill": PROOF_DEAD},
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
    {"stop": PROOF_ENDED}, ("driver",), strike, DRIVER_ENDED, ends={"driver": Ends.DRIVER}
)
