"""The composed stack: the same members in containers, struck through the Docker engine.

It is opened from its own network, where the names of its members mean something: in the container
of Airflow's scheduler, which is the runner.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from onceproof.errors import RequestError
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.home import onceproof_home
from onceproof.stacks import Done, Member, MemberStatus, Verb
from onceproof.stacks.aiming import aim, heal_members, lacking
from onceproof.stacks.compose import composed_state, service
from onceproof.stacks.compose.verbs import VERB_BODIES, containers_of, look_at
from onceproof.stacks.members.registry import members
from onceproof.stacks.state import VERB_ENDS_S, held

PREFIX = "compose:"


class ComposeStack:
    """The stack that a Compose project is; whoever has composed it takes it down."""

    def __init__(self, project: str) -> None:
        self.project = project
        self.state = composed_state()
        found = containers_of(project)
        if missing := [name for name in self.members if service(name) not in found]:
            raise RequestError(
                f"the Compose project {project!r} has no container of {', '.join(missing)}: write "
                "compose:PROJECT with the name that `docker compose ls` shows, or bring it up"
            )
        self.containers = {name: found[service(name)] for name in self.members}

    @property
    def name(self) -> str:
        """The text by which it is opened again."""
        return f"{PREFIX}{self.project}"

    @property
    def brokers(self) -> Brokers:
        """The brokers, for clients."""
        found = self.members.values()
        return Brokers(tuple(one.address for one in found if one.kind == "broker"), PLAIN)

    @property
    def members(self) -> dict[str, Member]:
        """Every member by name."""
        return members(self.state)

    def status(self) -> list[MemberStatus]:
        """Look at every member, all at once."""
        with ThreadPoolExecutor(len(self.members)) as pool:
            return list(pool.map(self.look, self.members))

    def look(self, name: str) -> MemberStatus:
        """Look at one member."""
        member, found = self.members[name], look_at(self.containers[name])
        if not found.is_running:
            trouble = "it is dead"
        else:
            trouble = "it is paused" if found.is_paused else member.trouble()
        return MemberStatus(
            name=name,
            kind=member.kind,
            pid=found.pid if found.is_running else None,
            started=found.started if found.is_running else None,
            address=member.address,
            healthy=not trouble,
            trouble=trouble,
            pss_bytes=0,
            log=f"docker logs {found.id[:12]}",
        )

    @property
    def runs_executors_here(self) -> bool:
        """Its runner shares the workers' process namespace."""
        return True

    def lacks(self, verb: Verb, target: str) -> str:
        """Say why it cannot do the verb to the target, whoever lives; empty if it can."""
        return lacking(self, verb, target)

    def heal(self) -> None:
        """Start or resume each member that does not serve; Airflow's are none of ours."""
        heal_members(self)

    def apply(self, verb: Verb, target: str, rng: Random) -> Done:
        """Do the verb to the member that the target names, and wait until it has taken hold."""
        living = {
            name: member
            for name, member in self.members.items()
            if (one := look_at(self.containers[name])).is_running and not one.is_paused
        }

        def act(name: str, refuse_moved: Callable[[], None]) -> dict[str, Any]:
            lock = onceproof_home() / "locks" / f"{self.project}-{service(name)}"
            with held(lock, name, wait_s=VERB_ENDS_S):
                refuse_moved()
                return VERB_BODIES[verb](self.members[name], self.containers[name], living)

        return aim(
            verb,
            target,
            rng,
            names=list(self.members),
            living=living,
            brokers=self.state.brokers,
            act=act,
            security=PLAIN,
        )

    def down(self) -> None:
        """Refuse: this program may live in one of the containers."""
        raise RequestError(
            f"{self.name} is taken down from outside: docker compose -p {self.project} down "
            "--volumes"
        )
