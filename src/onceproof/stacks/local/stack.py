"""The local stack: real processes on loopback, without containers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from onceproof.errors import RequestError
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.home import onceproof_home
from onceproof.stacks import DEAD, PAUSED, Done, Member, MemberStatus, Verb
from onceproof.stacks.aiming import aim, heal_members, lacking
from onceproof.stacks.local import keeper
from onceproof.stacks.local.bringing_up import bring_up, refuse_invalid_shape
from onceproof.stacks.local.taking_down import folder_lock, take_down
from onceproof.stacks.local.verbs import VERB_BODIES, owner
from onceproof.stacks.members import store
from onceproof.stacks.members.registry import members
from onceproof.stacks.state import VERB_ENDS_S, State, file_lock

POSTMASTER = "store:postmaster"


class LocalStack:
    """A stack on this machine; as a context manager it is taken down when the block ends.

    `LocalStack.up(...)` starts one, `LocalStack(folder)` opens one that is already started.
    """

    def __init__(self, folder: Path | None = None) -> None:
        folder = (folder or default_folder()).resolve()
        found = State.load(folder)
        if found is None:
            raise RequestError(f"no stack in {folder}; run `onceproof up` to start one")
        self.state = found

    @classmethod
    def up(
        cls,
        folder: Path | None = None,
        *,
        brokers: int = 3,
        workers: int = 2,
        without: Collection[str] = (),
        is_quick: bool = True,
        links: bool = False,
        airflow_runs: Path | None = None,
    ) -> Self:
        """Start a stack in this folder and return when every member is healthy.

        Files of a dead stack there are removed first; a running one is never touched. `is_quick`
        selects JVM options for short runs, which are wrong for a throughput benchmark. With
        `links`, connections to brokers and store can be cut, slowed and swallowed. With
        `airflow_runs`, Airflow is started too, and writes its runs there.
        """
        folder = (folder or default_folder()).resolve()
        refuse_invalid_shape(brokers, workers, without, is_alone=airflow_runs is None)
        counts = {"brokers": 0 if "kafka" in without else brokers}
        counts["workers"] = 0 if "spark" in without else workers
        has_store = "store" not in without
        bring_up(
            folder,
            counts,
            has_store=has_store,
            is_quick=is_quick,
            has_links=links,
            airflow_runs=airflow_runs,
        )
        return cls(folder)

    def __enter__(self) -> Self:
        keeper.keep(self.state)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.down()

    def down(self) -> None:
        """End every process of the stack and remove its files, also after crashes."""
        take_down(self.state.folder, self.state.mark)

    @property
    def name(self) -> str:
        """Its folder, from which it is opened again."""
        return str(self.state.folder)

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
        found = list(self.members)
        with ThreadPoolExecutor(max(1, len(found))) as pool:
            return list(pool.map(self.look, found))

    @property
    def runs_executors_here(self) -> bool:
        """Always true: executors are local processes."""
        return True

    def lacks(self, verb: Verb, target: str) -> str:
        """Return why the stack can never do the verb to the target; empty if it can."""
        return lacking(self, verb, target, *self._postmaster())

    def heal(self) -> None:
        """Start or resume each unhealthy member, except Airflow's."""
        heal_members(self)

    def apply(self, verb: Verb, target: str, rng: Random) -> Done:
        """Do the verb to the target's member, and wait until it has taken effect."""
        with folder_lock(self.state.folder, is_shared=True):
            now = State.load(self.state.folder)
            if now is None or now.mark != self.state.mark:
                raise RequestError(f"the stack in {self.state.folder} has been taken down")
            if not now.ready:
                raise RequestError(
                    f"the stack in {self.state.folder} did not start completely; run "
                    "`onceproof down`, then `onceproof up`"
                )
            return self._apply(verb, target, rng)

    def _apply(self, verb: Verb, target: str, rng: Random) -> Done:
        running = self._running()

        def act(name: str, refuse_moved: Callable[[], None]) -> dict[str, Any]:
            (member,) = self._postmaster() if name == POSTMASTER else (self.members[name],)
            if verb not in member.verbs:
                raise RequestError(f"cannot {verb} {name}; use one of {', '.join(member.verbs)}")
            with file_lock(self.state.folder / "locks" / owner(member), name, wait_s=VERB_ENDS_S):
                refuse_moved()
                return VERB_BODIES[verb](self.state, member, running)

        return aim(
            verb,
            target,
            rng,
            names=self._names(),
            running=running,
            brokers=self.state.brokers,
            act=act,
            security=PLAIN,
        )

    def _postmaster(self) -> list[Member]:
        return [store.Store(self.state, True)] if "store" in self.members else []

    def _names(self) -> list[str]:
        return [*self.members, *(one.name for one in self._postmaster())]

    def _running(self) -> dict[str, Member]:
        return {
            name: member
            for name, member in self.members.items()
            if (one := self.state.identity(name)) and one.is_alive and not one.is_paused
        }

    def look(self, name: str) -> MemberStatus:
        """Return the current state of one member."""
        member = self.members[name]
        main = self.state.identity(member.name)
        family = member.family(main)
        if main is None or main not in family:
            trouble = DEAD
        elif main.is_paused:
            trouble = PAUSED
        else:
            trouble = member.trouble()
        return MemberStatus(
            name=member.name,
            kind=member.kind,
            pid=main.pid if main in family and main else None,
            started=main.started if main in family and main else None,
            address=member.address,
            healthy=not trouble,
            trouble=trouble,
            pss_bytes=sum(one.pss_bytes() for one in family),
            log=str(self.state.log(member.name)),
        )


def default_folder() -> Path:
    """Return a stack's default folder."""
    return onceproof_home() / "stack"
