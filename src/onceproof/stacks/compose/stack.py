"""The composed stack: the same members in containers, controlled through the Docker engine.

Open it from its own network, where its members' host names resolve: in the container of Airflow's
scheduler, which is the runner.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from onceproof.errors import RequestError
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.home import onceproof_home
from onceproof.stacks import DEAD, PAUSED, Done, Member, MemberStatus, Verb
from onceproof.stacks.aiming import aim, heal_members, lacking
from onceproof.stacks.compose import composed_state, service
from onceproof.stacks.compose.verbs import VERB_BODIES, containers_of, look_at
from onceproof.stacks.members.registry import members
from onceproof.stacks.state import VERB_ENDS_S, file_lock

PREFIX = "compose:"


class ComposeStack:
    """A Compose project as a stack; `docker compose` starts it and takes it down."""

    def __init__(self, project: str) -> None:
        self.project = project
        self.state = composed_state()
        found = containers_of(project)
        if missing := [name for name in self.members if service(name) not in found]:
            raise RequestError(
                f"Compose project {project!r} has no container for {', '.join(missing)}; start it, "
                "or use compose:PROJECT with a name from `docker compose ls`"
            )
        self.containers = {name: found[service(name)] for name in self.members}

    @property
    def name(self) -> str:
        """The text from which it is opened again."""
        return f"{PREFIX}{self.project}"

    @property
    def brokers(self) -> Brokers:
        """The brokers' addresses for clients."""
        found = self.members.values()
        return Brokers(tuple(one.address for one in found if one.kind == "broker"), PLAIN)

    @property
    def members(self) -> dict[str, Member]:
        """Every member by name."""
        return members(self.state)

    def status(self) -> list[MemberStatus]:
        """Return the current state of every member, all looked at concurrently."""
        with ThreadPoolExecutor(len(self.members)) as pool:
            return list(pool.map(self.look, self.members))

    def look(self, name: str) -> MemberStatus:
        """Return the current state of one member."""
        member, found = self.members[name], look_at(self.containers[name])
        if not found.is_running:
            trouble = DEAD
        elif found.is_paused:
            trouble = PAUSED
        else:
            trouble = member.trouble()
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
        """Always true: the runner shares the workers' process namespace."""
        return True

    def lacks(self, verb: Verb, target: str) -> str:
        """Return why the stack can never do the verb to the target; empty if it can."""
        return lacking(self, verb, target)

    def heal(self) -> None:
        """Start or resume each unhealthy member, except Airflow's."""
        heal_members(self)

    def apply(self, verb: Verb, target: str, rng: Random) -> Done:
        """Do the verb to the target's member, and wait until it has taken effect."""
        running = {
            name: member
            for name, member in self.members.items()
            if (one := look_at(self.containers[name])).is_running and not one.is_paused
        }

        def act(name: str, refuse_moved: Callable[[], None]) -> dict[str, Any]:
            lock = onceproof_home() / "locks" / f"{self.project}-{service(name)}"
            with file_lock(lock, name, wait_s=VERB_ENDS_S):
                refuse_moved()
                return VERB_BODIES[verb](self.members[name], self.containers[name], running)

        return aim(
            verb,
            target,
            rng,
            names=list(self.members),
            running=running,
            brokers=self.state.brokers,
            act=act,
            security=PLAIN,
        )

    def down(self) -> None:
        """Raise `RequestError`: this program may run in one of the containers."""
        raise RequestError(
            f"cannot take {self.name} down from inside; run docker compose -p {self.project} down "
            "--volumes"
        )
