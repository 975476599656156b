"""Faults: a verb on a target, when its trigger comes, with proof that it took hold, and its cure.

A mechanism is a module with `VERBS`, `TARGETS`, `strike` and `heal`; here are all of them. `strike`
returns only when the fault has taken hold, and returns the proof; what found nothing to act on
raises. `heal` may be repeated, and does nothing where nothing is to be healed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from onceproof.errors import RequestError
from onceproof.identity import Identity
from onceproof.stacks.local import LocalStack
from onceproof.work import FaultPart, Work

Proof = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """What a fault may reach.

    `kill_driver` returns who died; `job` the living processes of the job, executors included;
    `halted` is the process that waits at the fault's failpoint, if that is its trigger.
    """

    work: Work
    stack: LocalStack
    kill_driver: Callable[[], list[Identity]]
    job: Callable[[], list[Identity]]
    rng: Random
    halted: Identity | None = None


@dataclass(frozen=True)
class Mechanism:
    """One way to strike. `targets` are words; one that ends in `:` takes whatever follows it."""

    verbs: tuple[str, ...]
    targets: tuple[str, ...]
    strike: Callable[[FaultPart, Scene], Proof]
    heal: Callable[[FaultPart, Scene, Proof], Proof]

    def takes(self, verb: str, target: str) -> bool:
        """Whether this mechanism does this verb to this target."""
        return verb in self.verbs and any(
            target.startswith(one) and target != one if one.endswith(":") else target == one
            for one in self.targets
        )


def find_mechanism(verb: str, target: str) -> Mechanism:
    """Return the mechanism for a fault, or raise `RequestError` with what there is."""
    for one in mechanisms():
        if one.takes(verb, target):
            return one
    known = "; ".join(f"{', '.join(one.verbs)} of {', '.join(one.targets)}" for one in mechanisms())
    raise RequestError(f"there is no fault that can {verb} {target}: there are {known}")


def mechanisms() -> tuple[Mechanism, ...]:
    """Return every mechanism, in the order in which they are asked."""
    from onceproof.faults import kill_driver, kill_executor, strike_member

    return (kill_driver.MECHANISM, kill_executor.MECHANISM, strike_member.MECHANISM)


def nothing_to_heal(fault: FaultPart, scene: Scene, proof: Mapping[str, Any]) -> Proof:  # noqa: ARG001
    """Heal what heals by itself."""
    return {}
