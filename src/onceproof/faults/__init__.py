"""The contract of faults: a verb on a target, its trigger, its proof, its cure.

Each file here defines one or more `Mechanism` values, each with one line in
`onceproof.faults.registry`; the rest of the package uses faults only through these values. `strike`
returns the proof, and only after the fault has taken hold; it raises if there was nothing to act
on. `heal` is idempotent, and does nothing if there is nothing to heal.
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
ATTEMPT_ENDS = "attempt_ends"  # value of `how.until`: until the attempt gives up


class Job(Protocol):
    """The job under test, as faults see it."""

    @property
    def run(self) -> RunDirectory:
        """The run's directory, with the job's checkpoint and its output in files."""

    @property
    def deaths(self) -> AbstractContextManager[Any]:
        """A reentrant lock, held while a fault kills a process: one death proves one fault."""

    def processes(self) -> list[Identity]:
        """Return its living processes, executors included."""

    def driver(self) -> list[Identity]:
        """Wait for a driver, and return its living processes."""

    def executors(self) -> list[Identity]:
        """Return the executors of living drivers, without those that outlived their driver."""

    def kill_driver(self) -> list[Identity]:
        """Kill the driver, and return the killed processes."""

    def stop_driver(self) -> list[Identity]:
        """Send SIGTERM to the driver, and return the processes that ended."""

    def kill_all(self) -> list[Identity]:
        """Kill the driver and every executor before the next attempt starts; return them."""

    def start_rival(self) -> Identity:
        """Start a second driver beside the living one, and return it."""

    def committed(self) -> int:
        """Return the newest batch in the commit log, -1 for an empty log."""

    def let_readers_look(self) -> None:
        """Wait until a reader has seen the current output, to distinguish later rows from it."""

    def newest(self) -> tuple[int, int]:
        """Return the newest batch in the offset log and in the commit log, read from the files."""

    def while_down(self, act: Callable[[Path], T]) -> tuple[list[Identity], T]:
        """Kill the driver, and call `act` with its checkpoint before the next attempt starts.

        Return the killed processes and the result of `act`.
        """

    def planned(self) -> Mapping[tuple[str, int], int]:
        """Return the end offset of each partition in the newest batch of the offset log."""


@dataclass(frozen=True)
class Scene:
    """Everything that a fault can act on.

    `point` is the fault's failpoint, if that is its trigger; `halted` is the process waiting there.
    """

    plan: Plan
    stack: Stack
    job: Job
    rng: Random
    point: Failpoint | None = None
    halted: Identity | None = None

    @property
    def brokers(self) -> Brokers:
        """The brokers, for clients of Kafka."""
        return self.stack.brokers


class Ends(Enum):
    """The part of the job that a fault ends, used to count restarts and to explain failures."""

    NOTHING = auto()
    DRIVER = auto()  # killed or stopped, and not restarted when the proof is recorded
    REPLACED = auto()  # a driver; the next attempt runs already when the proof is recorded
    CHECKPOINT = auto()  # a driver; later attempts may fail because of the damage
    ATTEMPT = auto()  # the attempt fails by itself as an effect of the fault
    LOST_INPUT = auto()  # the same, unless the query is set to skip lost input
    EITHER = auto()  # one of two drivers, when it notices the other


class At(Enum):
    """The kind of moment at which a random fault strikes."""

    SHARE = auto()  # of the input committed
    STEP = auto()  # of the driver
    TASK = auto()  # a step of a task
    COMMIT = auto()  # when a commit is logged


@dataclass(frozen=True)
class Draw:
    """A fault that may be drawn at random, with its weight and its kind of moment.

    `store` limits it to sinks of that store. Draws are sorted by `order`, so that a seed draws the
    same faults in any order of the registry; give a new draw the highest order.
    """

    weight: int
    verb: str
    target: str
    at: At
    store: str = ""
    order: int = 1000


@dataclass(frozen=True)
class Setting:
    """A fault as requested by a scenario, with the sink and the input of that scenario.

    `step` is its failpoint. `stateless` is the pipeline's name if it is built in and keeps no
    state.
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
    """A requirement of a fault on its scenario.

    `lacks` returns an empty text if it is met, else the problem and the remedy, which are reported
    at the field `at` of the fault.
    """

    at: Where
    lacks: Callable[[Setting], str]


def nothing_to_heal(fault: FaultPart, scene: Scene, proof: Mapping[str, Any]) -> Proof:  # noqa: ARG001
    """Do nothing: the job recovers from this fault by itself."""
    return {}


def any_stack(stack: Stack, fault: FaultPart) -> str:  # noqa: ARG001  the contract
    """Return an empty text: the fault needs nothing special of the stack."""
    return ""


@dataclass(frozen=True)
class Mechanism:
    """A way to strike, with everything that the rest of the package needs to know about it.

    `verbs` maps each verb to a description of its proof; `also` maps the prefix of a target to a
    text that is appended to it. A target that ends in `:` matches any target with that prefix,
    except those in `but`; `words` describes targets that are not in `onceproof.faults.targets`.

    `proves` are the checks of the strike's proof, in addition to those of its moment, and `cures`
    those of the heal's proof. The fault is healed after the next commit of the job, or after
    `heals_after_s` without one. `ends` maps each target to what the fault ends, if anything.

    `how` maps each verb to the options of the fault. `needs` are requirements on the scenario.
    `lacks` returns why a stack cannot do the fault, empty if it can. Targets in `in_executors` need
    executors on this machine, `on_links` needs the stack's links, and `disks` maps each target that
    needs a disk of its own to the folder to mount it on.
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
        """Whether a strike must be healed: then a `fault.heal` record must follow it."""
        return self.heal is not nothing_to_heal

    def takes(self, verb: str, target: str) -> bool:
        """Whether this mechanism applies to this verb and target."""
        if target in self.but:
            return False
        return verb in self.verbs and any(
            target.startswith(one) and target != one if one.endswith(":") else target == one
            for one in self.targets
        )


def to_proof(processes: Iterable[Identity]) -> list[dict[str, int]]:
    """Return processes in the form that proofs use: pid and start time."""
    return [{"pid": one.pid, "started": one.started} for one in processes]
