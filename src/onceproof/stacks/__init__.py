"""A stack is the system under test behind a few verbs on named members.

Members have names (`broker:1`, `worker:2`, `master`, `store`) and roles (`broker:controller`,
`broker:leader=orders/0`, `broker:any`). A verb returns only when it has taken hold, and what it
returns is the proof. A fault whose verb found nothing to act on raises: it never returns a proof
of something that did not happen. Cures (`resume`, `start`) may be repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol

from onceproof.kafka.security import Brokers
from onceproof.machine.identity import Identity

Verb = Literal["kill", "pause", "resume", "stop", "start"]
VERBS: tuple[Verb, ...] = ("kill", "pause", "resume", "stop", "start")
CURES: tuple[Verb, ...] = ("resume", "start")


@dataclass(frozen=True)
class MemberStatus:
    """One member as it was found: who it is, whether it serves, and what keeps it from serving."""

    name: str
    kind: str
    pid: int | None
    started: int | None
    address: str
    healthy: bool
    trouble: str
    pss_bytes: int
    log: str


@dataclass(frozen=True)
class Done:
    """A verb that has taken hold of a member, with the evidence."""

    verb: Verb
    member: str
    proof: dict[str, Any]


class Stack(Protocol):
    """What faults, phases and the command line may ask of a stack, whatever it is made of."""

    @property
    def name(self) -> str:
        """The text by which `open_stack` finds it again."""

    @property
    def brokers(self) -> Brokers:
        """The brokers, for clients."""

    @property
    def members(self) -> Mapping[str, Member]:
        """Every member by name."""

    def status(self) -> Sequence[MemberStatus]:
        """Look at every member, now; never raises because a member is dead."""

    @property
    def runs_executors_here(self) -> bool:
        """Whether executors run on this machine, where they can be seen and struck."""

    def lacks(self, verb: Verb, target: str) -> str:
        """Say why it cannot do the verb to the target, whoever lives; empty if it can."""

    def apply(self, verb: Verb, target: str, rng: Random) -> Done:
        """Do the verb to the member that the target names, and wait until it has taken hold.

        `rng` decides only where the target leaves a choice (`broker:any`).
        """

    def heal(self) -> None:
        """Start or resume each member that does not serve; an orchestrator's is none of ours."""

    def down(self) -> None:
        """End every process of the stack and remove its files, whatever died before."""


class Member(Protocol):
    """What a kind of member tells about itself; the verbs do the rest, alike for all."""

    @property
    def name(self) -> str:
        """How it is called."""

    @property
    def kind(self) -> str:
        """What it is one of."""

    @property
    def stop_signal(self) -> str:
        """The signal that asks it to end in good order."""

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """What can be done to it."""

    @property
    def address(self) -> str:
        """Where its clients reach it."""

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""

    def needs(self, living: Collection[str]) -> str:
        """Say what must live beside it before it can serve; empty if all of it does."""

    def remove_leftovers(self) -> None:
        """Remove what its last life left that would keep it from starting; none of it lives."""

    def family(self, main: Identity | None) -> list[Identity]:
        """Return its living processes, the main one first."""

    def trouble(self) -> str:
        """Say what keeps it from serving; empty if nothing does."""
