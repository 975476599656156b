"""Kills every broker at once, and starts all of them again as the cure."""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import Mechanism, Proof, Scene
from onceproof.work import FaultPart

ALL = "broker:all"


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Kill one after the other; the proof is each one's own."""
    names = _all(scene)
    if not names:
        raise StackError("no broker lived that could be killed")
    killed = {name: scene.stack.apply("kill", name, scene.rng) for name in names}
    return {"members": {name: dict(done.proof) for name, done in killed.items()}}


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:  # noqa: ARG001  the contract
    """Start them; those that come first wait for a majority."""
    started = {name: scene.stack.apply("start", name, scene.rng) for name in proof["members"]}
    return {name: dict(done.proof) for name, done in started.items()}


def _all(scene: Scene) -> list[str]:
    found = scene.stack.status()
    return [one.name for one in found if one.kind == "broker" and (one.pid or one.healthy)]


MECHANISM = Mechanism(("kill",), (ALL,), strike, heal)
