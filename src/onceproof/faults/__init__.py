"""Faults: a verb on a target, when its trigger comes, with proof that it took hold, and its cure.

A mechanism is a module with `VERBS`, `TARGETS`, `strike` and `heal`; here are all of them. `strike`
returns only when the fault has taken hold, and returns the proof; what found nothing to act on
raises. `heal` may be repeated, and does nothing where nothing is to be healed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

from onceproof.errors import RequestError
from onceproof.failpoints import Failpoint
from onceproof.faults.checks import Check
from onceproof.kafka.security import Brokers
from onceproof.machine.identity import Identity
from onceproof.run.plan import FaultPart, Plan
from onceproof.stacks import Stack

Proof = dict[str, Any]
ATTEMPT_ENDS = "attempt_ends"  # under `how`, of `until`: longer than the job is patient


class Job(Protocol):
    """The job under test, as faults see it."""

    @property
    def deaths(self) -> AbstractContextManager[Any]:
        """Whoever kills one of its processes holds it, so that a death is one fault's alone.

        It may be held again by whoever holds it.
        """

    def processes(self) -> list[Identity]:
        """Return what lives of it, executors included."""

    def driver(self) -> list[Identity]:
        """Return what lives of its driver, when there is one."""

    def executors(self) -> list[Identity]:
        """Return the executors of a driver that lives; those that outlive theirs are nobody's."""

    def kill_driver(self) -> list[Identity]:
        """Kill the driver, and return who died."""

    def stop_driver(self) -> list[Identity]:
        """Ask the driver to end, and return who did."""

    def kill_all(self) -> list[Identity]:
        """Kill the driver and every executor, and return who died; the next attempt is no part."""

    def start_rival(self) -> Identity:
        """Start the job once more beside the one that lives, and return its driver."""

    def committed(self) -> int:
        """Return the newest batch that the commit log has, -1 if there is none."""

    def let_readers_look(self) -> None:
        """Wait until a reader has seen all that is there now, so that it tells what comes later."""

    def newest(self) -> tuple[int, int]:
        """Return the newest batch of the offset log and of the commit log, as the files are now."""

    def damage(self, kind: str, batch: int) -> tuple[list[Identity], Proof]:
        """Kill the driver and damage its checkpoint; return who died, and what was changed."""

    def planned(self) -> Mapping[tuple[str, int], int]:
        """Return up to where the newest batch of the offset log reads each partition."""

    def folder(self, name: str) -> Path:
        """Return where its `checkpoint` is, or its `output` in files."""

    def rescale(self, executors: int) -> list[Identity]:
        """Kill the driver, and return who died; every later attempt has so many executors."""


@dataclass(frozen=True)
class Scene:
    """What a fault may reach.

    `point` is the fault's failpoint, if that is its trigger, and `halted` who waits there.
    """

    work: Plan
    stack: Stack
    job: Job
    rng: Random
    point: Failpoint | None = None
    halted: Identity | None = None

    @property
    def brokers(self) -> Brokers:
        """The brokers, for whoever makes a client of them."""
        return self.stack.brokers


@dataclass(frozen=True)
class Mechanism:
    """One way to strike. `targets` are words; one that ends in `:` takes what follows it.

    What `but` names it leaves to others. It is healed when the job has committed once more in spite
    of it, or could not for so long. `how` are the names that may stand under a fault's `how`, by
    verb. `proves` is what the proof of its strike must show beside its moment, `cures` what that of
    its heal must.
    """

    verbs: tuple[str, ...]
    targets: tuple[str, ...]
    strike: Callable[[FaultPart, Scene], Proof]
    heal: Callable[[FaultPart, Scene, Proof], Proof]
    proves: tuple[Check, ...]
    cures: tuple[Check, ...] = ()
    heals_after_s: float = 5.0
    how: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    but: tuple[str, ...] = ()

    @property
    def has_heal(self) -> bool:
        """Whether a strike must be healed: then a `fault.heal` must follow it."""
        return self.heal is not nothing_to_heal

    def takes(self, verb: str, target: str) -> bool:
        """Whether this mechanism does this verb to this target."""
        if target in self.but:
            return False
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
    from onceproof.faults import (
        damage_checkpoint,
        disturb_links,
        fail_step,
        fill_disk,
        hijack,
        kill_driver,
        kill_executor,
        kill_task,
        pause_job,
        rescale_job,
        start_rival,
        strike_brokers,
        strike_input,
        strike_member,
    )

    return (
        kill_driver.MECHANISM,
        kill_driver.STOP,
        kill_executor.MECHANISM,
        kill_task.MECHANISM,
        pause_job.DRIVER,
        pause_job.EXECUTOR,
        fail_step.MECHANISM,
        start_rival.MECHANISM,
        hijack.MECHANISM,
        strike_brokers.MECHANISM,
        strike_brokers.RESTART,
        damage_checkpoint.LOSE,
        damage_checkpoint.DAMAGE,
        rescale_job.MECHANISM,
        fill_disk.MECHANISM,
        *strike_input.ALL,
        disturb_links.MECHANISM,
        strike_member.MECHANISM,
    )


def told(processes: Iterable[Identity]) -> list[dict[str, int]]:
    """Return processes as proofs name them."""
    return [{"pid": one.pid, "started": one.started} for one in processes]


def nothing_to_heal(fault: FaultPart, scene: Scene, proof: Mapping[str, Any]) -> Proof:  # noqa: ARG001
    """Heal what heals by itself."""
    return {}
