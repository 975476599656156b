"""The contract of faults: a verb on a target, its trigger, its proof, its cure.

A file here holds a `Mechanism` or several; each says all that the rest of the package must know
of it, and has one line in `onceproof.faults.registry`. `strike` returns only when the fault has
taken hold, and returns the proof; what found nothing to act on raises. `heal` may be repeated, and
does nothing where nothing is to be healed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from random import Random
from typing import Any, Protocol, TypeVar

from onceproof.failpoints import Failpoint
from onceproof.faults.checks import Check
from onceproof.kafka.security import Brokers
from onceproof.machine.identity import Identity
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import FaultPart, Plan
from onceproof.schema.kinds import Field
from onceproof.sinks import Sink
from onceproof.stacks import Stack

T = TypeVar("T")
Proof = dict[str, Any]
ATTEMPT_ENDS = "attempt_ends"  # under `how`, of `until`: longer than the job is patient


class Job(Protocol):
    """The job under test, as faults see it."""

    @property
    def run(self) -> RunDirectory:
        """The run's directory, with the job's checkpoint and its output in files."""

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

    def while_down(self, act: Callable[[Path], T]) -> tuple[list[Identity], T]:
        """Kill the driver, and act on its checkpoint before it is started again.

        Return who died, and what the action returned.
        """

    def planned(self) -> Mapping[tuple[str, int], int]:
        """Return up to where the newest batch of the offset log reads each partition."""


@dataclass(frozen=True)
class Scene:
    """What a fault may reach.

    `point` is the fault's failpoint, if that is its trigger, and `halted` who waits there.
    """

    plan: Plan
    stack: Stack
    job: Job
    rng: Random
    point: Failpoint | None = None
    halted: Identity | None = None

    @property
    def brokers(self) -> Brokers:
        """The brokers, for whoever makes a client of them."""
        return self.stack.brokers


class Ends(Enum):
    """What a fault ends of the job: by it restarts are counted and failures explained."""

    NOTHING = auto()
    DRIVER = auto()  # killed or stopped, and not yet started again when the strike is proved
    REPLACED = auto()  # a driver, of which the next attempt runs when the strike is proved
    CHECKPOINT = auto()  # a driver, and later attempts may fail of the damage
    ATTEMPT = auto()  # it fails by itself, of what the fault did
    LOST_INPUT = auto()  # so it does, unless the query skips input that is lost
    EITHER = auto()  # one of two drivers, when it notices the other


class At(Enum):
    """The kind of moment at which a random fault strikes."""

    SHARE = auto()  # of the input committed
    STEP = auto()  # of the driver
    TASK = auto()  # a step of a task
    COMMIT = auto()  # when a commit is logged


@dataclass(frozen=True)
class Draw:
    """One fault that may be drawn at random: how often, and at what kind of moment.

    `store` limits it to sinks whose rows are there. The draws are sorted by `order`, so that a seed
    draws the same faults wherever mechanisms are in the registry; a new one goes last.
    """

    weight: int
    verb: str
    target: str
    at: At
    store: str = ""
    order: int = 1000


@dataclass(frozen=True)
class Setting:
    """A fault as a scenario asks for it, with what it would find there.

    `step` is its failpoint. `stateless` is the name of a pipeline of ours that keeps no state.
    """

    verb: str
    target: str
    step: str | None = None
    sink: type[Sink] | None = None
    how: Mapping[str, Any] = field(default_factory=dict)
    sink_options: Mapping[str, Any] = field(default_factory=dict)
    partitions: int = 0
    stateless: str = ""


Where = tuple[str, ...]  # a field of a fault in a scenario file
WHEN, TARGET = ("when",), ("target",)


@dataclass(frozen=True)
class Need:
    """Something that a scenario must have for a fault; `lacks` is empty where it has it.

    Else it says what is wrong and what to write, at this field of the fault.
    """

    at: Where
    lacks: Callable[[Setting], str]


def nothing_to_heal(fault: FaultPart, scene: Scene, proof: Mapping[str, Any]) -> Proof:  # noqa: ARG001
    """Heal what heals by itself."""
    return {}


def any_stack(stack: Stack, fault: FaultPart) -> str:  # noqa: ARG001  the contract
    """Lack nothing: the fault asks the stack for nothing."""
    return ""


@dataclass(frozen=True)
class Mechanism:
    """One way to strike, and all that the rest of the package asks about it.

    `verbs` maps each verb to the words for what proves it, and `also` the beginning of a target to
    what is added to them. A target that ends in `:` takes what follows it, but none of `but`;
    `words` are for people, for targets that `onceproof.faults.targets` does not have.

    `proves` is what the proof of its strike must show beside its moment, `cures` what that of its
    heal must. It is healed when the job has committed once more in spite of it, or could not for
    `heals_after_s`. `ends` says by target what it ends, where that is something.

    `how` has by verb the options of a fault. `needs` are asked of a scenario, `lacks` of a stack:
    it says why that cannot do the fault, empty if it can. Targets `in_executors` need executors on
    this machine, `on_links` the links of the stack, and `disks` a folder on a disk of its own.
    """

    verbs: Mapping[str, str]
    targets: tuple[str, ...]
    strike: Callable[[FaultPart, Scene], Proof]
    proves: tuple[Check, ...]
    heal: Callable[[FaultPart, Scene, Proof], Proof] = nothing_to_heal
    cures: tuple[Check, ...] = ()
    heals_after_s: float = 5.0
    ends: Mapping[str, Ends] = field(default_factory=dict)
    how: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    draws: tuple[Draw, ...] = ()
    lacks: Callable[[Stack, FaultPart], str] = any_stack
    in_executors: tuple[str, ...] = ()
    on_links: bool = False
    disks: Mapping[str, str] = field(default_factory=dict)
    but: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)

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


def told(processes: Iterable[Identity]) -> list[dict[str, int]]:
    """Return processes as proofs name them."""
    return [{"pid": one.pid, "started": one.started} for one in processes]
