"""Kills the driver: all processes of its session at once, its JVM among them.

Its executors are not struck; they end when they miss it. The supervisor starts it again.
"""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import Mechanism, Proof, Scene, nothing_to_heal
from onceproof.work import FaultPart


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Kill it; the proof is who died."""
    dead = scene.kill_driver()
    if not dead:
        raise StackError("no driver lived that could be killed")
    return {"dead": [{"pid": one.pid, "started": one.started} for one in dead]}


MECHANISM = Mechanism(("kill",), ("driver",), strike, nothing_to_heal)
