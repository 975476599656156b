"""Kills every broker at once, and starts all of them again as the cure."""

from __future__ import annotations

from onceproof.faults import Mechanism, Proof, Scene
from onceproof.work import FaultPart

ALL = "broker:all"


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Kill one after the other; the proof is each one's own."""
    return {
        "members": {
            name: dict(scene.stack.apply("kill", name, scene.rng).proof) for name in _all(scene)
        }
    }


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:  # noqa: ARG001  the contract
    """Start them; those that come first wait for a majority."""
    started = {name: scene.stack.apply("start", name, scene.rng) for name in proof["members"]}
    return {name: dict(done.proof) for name, done in started.items()}


def _all(scene: Scene) -> list[str]:
    return [one.name for one in scene.stack.status() if one.name.startswith("broker:") and one.pid]


MECHANISM = Mechanism(("kill",), (ALL,), strike, heal)
