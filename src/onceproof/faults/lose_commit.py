"""Brings any job into the state of a crash between a batch's effect and its commit: by surgery.

The driver is held still; where the batch is committed and no other is planned, it is killed and the
commit taken away, else it goes on to the next. Then the engine runs that batch again, with the same
offsets, as it does after such a crash. So no failpoint is needed in the job.
"""

from __future__ import annotations

import signal

from onceproof.errors import StackError
from onceproof.faults import Mechanism, Proof, Scene, nothing_to_heal, told
from onceproof.polling import wait_for
from onceproof.work import FaultPart

_STANDS_STILL_WITHIN_S = 10.0
_COMES_WITHIN_S = 60.0


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Take it away; the proof is who died, and which files are gone."""
    least = fault.when.get("batch", 0)
    words = "no moment came at which the newest batch was committed and no other planned"
    (batch,) = wait_for(lambda: _hold(scene, least), _COMES_WITHIN_S, words, every_s=0.02)
    dead, taken = scene.job.lose_commit(batch)
    return {"dead": told(dead), "taken": taken, "batch": batch}


def _hold(scene: Scene, least: int) -> tuple[int] | None:
    """Hold the driver still and return its newest batch, if that is committed; else let it go."""
    living = scene.job.driver()
    if not living:
        raise StackError("no driver lived whose commit could be taken away")
    for one in living:
        one.send(signal.SIGSTOP)
    words = "the driver does not stand still"
    wait_for(
        lambda: all(one.is_paused or not one.is_alive for one in living),
        _STANDS_STILL_WITHIN_S,
        words,
        every_s=0.002,
    )
    planned, committed = scene.job.newest()
    if planned == committed >= least:
        return (committed,)
    for one in living:
        one.send(signal.SIGCONT)
    return None


MECHANISM = Mechanism(("lose",), ("commit",), strike, nothing_to_heal)
