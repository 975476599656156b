"""The external stack: a user's own brokers, Spark and database, reached by their addresses.

It supports only the verbs with commands in its file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from onceproof.errors import OnceproofError, RequestError
from onceproof.kafka.security import Brokers
from onceproof.stacks import CURES, Done, Member, MemberStatus, Verb
from onceproof.stacks.aiming import aim, lacking
from onceproof.stacks.external.file import read_external
from onceproof.stacks.external.member import (
    KAFKA,
    ExternalMember,
    await_service,
    brokers_of,
    carry_out,
    runs_here,
)
from onceproof.variables import resolve

PREFIX = "external:"


class ExternalStack:
    """The stack described in a file; only its owner starts it and takes it down."""

    def __init__(self, file: Path) -> None:
        self.external = read_external(file.resolve())
        for text in (*self.brokers.security.named().values(), self.external.store):
            resolve(text)  # raises for a variable that is not set, before anything starts
        store = self.external.store
        if store and not resolve(store).startswith(("postgresql://", "postgres://")):
            raise RequestError(f"{store} contains no address; set it to postgresql://...")

    @property
    def name(self) -> str:
        """The text from which it is opened again."""
        return f"{PREFIX}{self.external.file}"

    @property
    def brokers(self) -> Brokers:
        """The brokers' addresses and security settings for clients."""
        return self.external.brokers

    @property
    def runs_executors_here(self) -> bool:
        """Whether executors run on this machine, where faults can find and kill them."""
        return runs_here(self.external.spark)

    @property
    def members(self) -> Mapping[str, Member]:
        """Kafka, the master and the store as a whole, and each member in the file."""
        given = self.external
        addresses = {KAFKA: given.brokers.bootstrap, "master": given.spark}
        if given.store:
            addresses["store"] = given.store
        addresses = {name: one.address for name, one in given.members.items()} | addresses
        return {name: self._member(name, address) for name, address in addresses.items()}

    def _member(self, name: str, address: str) -> ExternalMember:
        entry = self.external.members.get(name)
        return ExternalMember(name, address, self.external, entry.commands if entry else {})

    def status(self) -> list[MemberStatus]:
        """Return the current state of every member, all looked at concurrently."""
        members = self.members
        with ThreadPoolExecutor(len(members)) as pool:
            troubles = list(pool.map(lambda one: one.trouble(), members.values()))
        return [
            MemberStatus(
                name=one.name,
                kind=one.kind,
                pid=None,
                started=None,
                address=one.address,
                healthy=not trouble,
                trouble=trouble,
                pss_bytes=0,
                log="",
            )
            for one, trouble in zip(members.values(), troubles, strict=True)
        ]

    def lacks(self, verb: Verb, target: str) -> str:
        """Return why the stack can never do the verb to the target; empty if it can."""
        return lacking(self, verb, target)

    def apply(self, verb: Verb, target: str, rng: Random) -> Done:
        """Run the file's command for the verb on the target's member, and wait for its effect."""
        if reason := self.lacks(verb, target):
            raise RequestError(reason)
        named = {
            name: self._member(name, one.address) for name, one in self.external.members.items()
        }
        others: dict[str, ExternalMember] = {}
        if target.startswith("broker:"):
            found = brokers_of(self.brokers)
            others = {one: self._member(one, found[one]) for one in found.keys() - named.keys()}
        running = {one.name: one for one in named.values() if not one.trouble()} | others
        if target.endswith(":any"):  # choose among members with this verb
            running = {name: one for name, one in running.items() if verb in one.verbs}

        def act(name: str, refuse_moved: Callable[[], None]) -> dict[str, Any]:
            member = named.get(name) or others[name]
            if verb not in member.verbs:
                raise RequestError(f"{name} has no {verb} command; add it to {self.name}")
            refuse_moved()
            return carry_out(member, verb)

        return aim(
            verb,
            target,
            rng,
            names=[*named, *others],
            running=running,
            brokers=sum(name.startswith("broker:") for name in (*named, *others)),
            act=act,
            security=self.brokers.security,
        )

    def heal(self) -> None:
        """Resume and start every unhealthy member that has commands for it."""
        for one in self.status():
            member = self._member(one.name, one.address)
            cures = [verb for verb in CURES if verb in member.verbs]
            if one.healthy or not cures:
                continue
            for verb in cures:
                with suppress(OnceproofError):  # resume fails for a dead member, start for a paused
                    member.order(verb)
            await_service(member)

    def down(self) -> None:
        """Raise `RequestError`: only its owner takes it down."""
        raise RequestError(f"cannot take {self.name} down; only its owner can")
