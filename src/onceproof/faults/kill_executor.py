"""Kills or stops one executor or all of them: the JVM, without which its Python workers end too.

`executor` at a failpoint in a task is the executor that runs the task, otherwise any. Spark starts
a replacement and runs its tasks again.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence

from onceproof.errors import StackError
from onceproof.faults import At, Draw, Mechanism, Proof, Scene, to_proof
from onceproof.faults.busy import EXECUTOR, busy_executor
from onceproof.faults.checks import DEAD, PROOF_DEAD, PROOF_ENDED, Case, Check, processes_of, whole
from onceproof.faults.needs import RUNNING_TASK
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart

_DIES_WITHIN_S = 10.0
_COME_WITHIN_S = 60.0
_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGTERM}


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Kill or stop them; the proof is the dead processes."""
    with scene.job.deaths:
        living = executors(scene)
        victims = [one for one in pick(fault, scene, living) if one.send(_SIGNALS[fault.verb])]
        if not victims:
            raise StackError("the executor had ended before it was killed")
        words = f"{len(victims)} executors do not end"

        def all_dead() -> bool:
            return not any(one.is_alive for one in victims)

        wait_for(all_dead, _DIES_WITHIN_S, words, every_s=0.01)
    return {
        "dead": to_proof(victims),
        "executors_before": len(living),
    }


def executors(scene: Scene) -> list[Identity]:
    """Wait until a living driver has executors, and return them."""
    words = "no executor was alive to be struck"
    return wait_for(scene.job.executors, _COME_WITHIN_S, words)


def pick(fault: FaultPart, scene: Scene, living: Sequence[Identity]) -> Sequence[Identity]:
    """Return the executors that a target refers to: all, a busy one, that at the failpoint, any."""
    if fault.target == "executor:all":
        return living
    if fault.target == EXECUTOR:
        return [busy_executor(scene)]
    if fault.target == "executor" and scene.halted:
        above = scene.halted.ancestors()
        running = [one for one in living if one in above]
        if not running:
            raise StackError(f"process {scene.halted.pid} at the failpoint runs in no executor")
        return running[:1]
    return [scene.rng.choice(sorted(living))]


TARGETS = ("executor", "executor:any", "executor:all", EXECUTOR)


def _are_as_many_as_meant(case: Case) -> bool:
    struck, living = len(case.proof["dead"]), whole(case.proof["executors_before"], 1)
    return struck <= living if case.fault.target == "executor:all" else struck == 1


_PROVES = (
    DEAD,
    Check(
        "no driver is among `dead`",
        lambda case: case.drivers().keys().isdisjoint(processes_of(case.proof["dead"])),
    ),
    Check(
        "one executor ended, or for `executor:all` at most `executors_before`",
        _are_as_many_as_meant,
    ),
)
MECHANISM = Mechanism(
    {"kill": PROOF_DEAD, "stop": PROOF_ENDED},
    TARGETS,
    strike,
    _PROVES,
    needs=(RUNNING_TASK,),
    in_executors=TARGETS,
    draws=(
        Draw(3, "kill", "executor", At.TASK, order=4),
        Draw(3, "kill", "executor:any", At.SHARE, order=5),
        Draw(1, "kill", "executor:all", At.SHARE, order=6),
    ),
)
