"""Cuts, slows or swallows what goes between a member and those who connect to it.

Whom it is kept from is `from`: anyone, `brokers`, `clients`, `driver`, `executor`, `producer`, or a
broker by its name; driver and executors are this run's own. A swallowing link may be one-way:
`way: requests` is what the others send, `way: answers` what they are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onceproof.faults import Mechanism, Proof, Scene
from onceproof.faults.strike_member import run_target
from onceproof.stacks.link_rules import ANYONE, DEEDS, WAYS, Rule
from onceproof.stacks.link_verbs import disturb
from onceproof.stacks.link_verbs import heal as heal_links
from onceproof.work import FaultPart

_OF_THE_RUN = ("driver", "executor")
# Of each verb, what stands under `how` beside `from`, and what holds where it is left out.
HOW: Mapping[str, Mapping[str, Any]] = {
    "cut": {},
    "delay": {"ms": 300},
    "rate": {"kbytes": 100},
    "blackhole": {"way": "both"},
}


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Let it hold; the proof is what the links have counted when somebody felt it.

    Who waits at the failpoint goes on as soon as it holds, since nobody feels it who stands still.
    """
    how = {**HOW[fault.verb], **fault.how}
    how.pop("until", None)
    who, way = how.pop("from", ANYONE), how.pop("way", "both")
    if who in _OF_THE_RUN:
        who = f"{who}={scene.work.run}"
    name = f"{scene.work.run}/{fault.name}"
    (do,) = (deed for deed in DEEDS if deed == fault.verb)
    rule = Rule(name, do, (), WAYS if way == "both" else (way,), **how)
    let_go = scene.point.let_go if scene.point else lambda: None
    return disturb(scene.stack, rule, run_target(fault, scene), who, scene.rng, let_go)


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:  # noqa: ARG001  the contract
    """Take it back; what the links had counted by then is told."""
    healed = heal_links(scene.stack, [proof["rule"]["name"]])
    return {"counts": healed[0]["counts"] if healed else {}, "changed": bool(healed)}


def needs_links(faults: Iterable[FaultPart]) -> bool:
    """Whether one of these faults strikes a link, so that the stack must have them."""
    return any(MECHANISM.takes(fault.verb, fault.target) for fault in faults)


MECHANISM = Mechanism(
    DEEDS,
    ("broker:", "store"),
    strike,
    heal,
    how={verb: ("from", "until", *taken) for verb, taken in HOW.items()},
)
