"""The system under test, as named members with a few verbs.

Members have names (`broker:1`, `worker:2`, `master`, `store`) and roles (`broker:controller`,
`broker:leader=orders/0`, `broker:any`). A verb returns only when it has taken effect, and returns
the proof. A verb that finds nothing to act on raises: it never returns a proof of something that
did not happen. Cures (`resume`, `start`) may be repeated.
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
DEAD, PAUSED = "is dead", "is paused"  # troubles of a member without a running process
CURES: tuple[Verb, ...] = ("resume", "start")


@dataclass(frozen=True)
class MemberStatus:
    """A member's state at one look: its process, whether it is healthy, and if not, why."""

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
    """A verb that has taken effect on a member, with its proof."""

    verb: Verb
    member: str
    proof: dict[str, Any]


class Stack(Protocol):
    """The interface of every kind of stack for faults, phases and the command line."""

    @property
    def name(self) -> str:
        """The text from which `open_stack` opens it again."""

    @property
    def brokers(self) -> Brokers:
        """The brokers' addresses and security settings for clients."""

    @property
    def members(self) -> Mapping[str, Member]:
        """Every member by name."""

    def status(self) -> Sequence[MemberStatus]:
        """Return the current state of every member; a dead member does not raise."""

    @property
    def runs_executors_here(self) -> bool:
        """Whether executors run on this machine, where faults can find and kill them."""

    def lacks(self, verb: Verb, target: str) -> str:
        """Return why the stack can never do the verb to the target; empty if it can.

        The answer does not depend on which members are running.
        """

    def apply(self, verb: Verb, target: str, rng: Random) -> Done:
        """Do the verb to the target's member, and wait until it has taken effect.

        `rng` is used only if the target leaves a choice (`broker:any`).
        """

    def heal(self) -> None:
        """Start or resume each unhealthy member, except those of an orchestrator."""

    def down(self) -> None:
        """End every process of the stack and remove its files, also after crashes."""


class Member(Protocol):
    """The properties in which kinds of members differ; verbs treat all members alike."""

    @property
    def name(self) -> str:
        """Its name in targets, such as `broker:1`."""

    @property
    def kind(self) -> str:
        """Its kind, such as `broker`."""

    @property
    def stop_signal(self) -> str:
        """The signal that requests an orderly shutdown."""

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """The verbs that it supports."""

    @property
    def address(self) -> str:
        """The address for its clients."""

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""

    def needs(self, running: Collection[str]) -> str:
        """Return the missing members without which it cannot become healthy; empty if none."""

    def remove_leftovers(self) -> None:
        """Remove files of its previous process that would prevent a start.

        Call this only after all of its processes have ended.
        """

    def family(self, main: Identity | None) -> list[Identity]:
        """Return its running processes, the main one first."""

    def trouble(self) -> str:
        """Return why it is not healthy, as in "is dead" or "does not respond"; empty if it is."""
