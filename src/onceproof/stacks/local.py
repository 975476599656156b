"""The embedded stack: real processes on loopback, no container and nothing to install."""

from __future__ import annotations

import errno
import logging
import shutil
import signal
import socket
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from onceproof.errors import RequestError
from onceproof.home import onceproof_home
from onceproof.identity import boot_id
from onceproof.polling import wait_for
from onceproof.setup.postgres import refuse_closed
from onceproof.stacks import CURES, Done, MemberStatus, Verb, brokers, cluster, store
from onceproof.stacks.kafka_setup import kafka_tools
from onceproof.stacks.ports import free_ports
from onceproof.stacks.roles import find_role, pick
from onceproof.stacks.spark_setup import spark_tools
from onceproof.stacks.state import Launch, State, held
from onceproof.stacks.store_setup import store_tools
from onceproof.stacks.verbs import VERB_BODIES, Member, await_health, owner

PARTS = ("kafka", "spark", "store")
_NEEDED_BYTES = 1 << 29
_ARCHIVE = "-XX:SharedArchiveFile="
log = logging.getLogger(__name__)


class LocalStack:
    """A stack on this machine; as a context manager it is down when the block ends.

    `LocalStack.up(...)` starts one, `LocalStack(folder)` picks up one that somebody started.
    """

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or default_folder()
        found = State.load(folder)
        if found is None:
            raise RequestError(f"no stack was started in {folder}: `onceproof up` starts one")
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
    ) -> Self:
        """Start a stack in this folder and return when every member serves.

        What a dead stack left there is removed first; a living one is never touched. `is_quick`
        gives the JVMs the settings for short runs, which are wrong for a throughput benchmark.
        """
        folder = (folder or default_folder()).absolute()
        _refuse_wrong(brokers, workers, without)
        counts = {"brokers": 0 if "kafka" in without else brokers}
        counts["workers"] = 0 if "spark" in without else workers
        with _no_space_is_said(folder), _held(folder):
            _clear(folder)
            refuse_little_space(folder)
            if "store" not in without:
                refuse_closed(folder)
            state = _new_state(folder, counts, has_store="store" not in without)
            try:
                state = replace(state, launches=_launches(state, is_quick=is_quick))
                state.save()
                _start(state)
                state = replace(state, ready=True)
                state.save()
            except BaseException:
                _end_processes(state)
                raise
        return cls(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.down()

    def down(self) -> None:
        """End every process of the stack and remove its files, whatever died before."""
        take_down(self.state.folder)

    @property
    def bootstrap(self) -> list[str]:
        """The addresses of the brokers, for clients."""
        return [one.address for one in self.members.values() if one.kind == "broker"]

    @property
    def members(self) -> dict[str, Member]:
        """Every member by name."""
        return members(self.state)

    def status(self) -> list[MemberStatus]:
        """Look at every member, all at once."""
        found = list(self.members.values())
        with ThreadPoolExecutor(max(1, len(found))) as pool:
            return list(pool.map(self._look, found))

    def apply(self, verb: Verb, target: str, rng: Random) -> Done:
        """Do the verb to the member that the target names, and wait until it has taken hold."""
        living = self._living()
        role = find_role(
            target, [self.members[name].address for name in living if "broker" in name]
        )
        if role and verb in CURES:
            raise RequestError(f"{verb} takes a member, not a role: {target} is whoever leads now")
        seat = role.seat() if role else None
        name = f"broker:{seat.broker}" if seat else pick(target, self._names(), living, rng)
        member = store.Store(self.state, True) if name == "store:postmaster" else self.members[name]
        with held(self.state.folder / "locks" / owner(member), name):
            proof = VERB_BODIES[verb](self.state, member, living)
        if role and seat:
            lacks = member.needs(living - {name})
            is_lost = self.state.brokers == 1 or len(living - {name}) <= self.state.brokers // 2
            after = {"after": None, "reason": f"{lacks or 'every other broker'} is dead"}
            proof["seat"] = after if is_lost else role.moved(seat)
        return Done(verb, name, proof)

    def _names(self) -> list[str]:
        postmaster = ["store:postmaster"] if "store" in self.members else []
        return [*self.members, *postmaster]

    def _living(self) -> set[str]:
        known = {name: self.state.identity(name) for name in self.members}
        return {n for n, one in known.items() if one and one.is_alive and not one.is_paused}

    def _look(self, member: Member) -> MemberStatus:
        main = self.state.identity(member.name)
        family = member.family(main)
        if main is None or main not in family:
            trouble = "it is dead"
        elif main.is_paused:
            trouble = "it is paused"
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
    """Return where a stack lives unless a folder is given."""
    return onceproof_home() / "stack"


def members(state: State) -> dict[str, Member]:
    """Return every member that the state names."""
    found: list[Member] = [brokers.Broker(state, i + 1) for i in range(state.brokers)]
    if state.workers:
        found.append(cluster.Master(state))
        found += [cluster.Worker(state, i + 1) for i in range(state.workers)]
    if "store" in state.ports:
        found.append(store.Store(state))
    return {member.name: member for member in found}


def _refuse_wrong(brokers: int, workers: int, without: Collection[str]) -> None:
    if brokers not in (1, 3, 5):
        raise RequestError(f"--brokers {brokers} gives no majority to count on: take 1, 3 or 5")
    if not 1 <= workers <= 8:
        raise RequestError(f"--workers {workers} is out of range: take 1 to 8")
    for part in without:
        if part not in PARTS:
            raise RequestError(f"--without {part} names no part: take {', '.join(PARTS)}")
    if set(PARTS) <= set(without):
        raise RequestError("--without everything leaves no stack: leave at least one part in")


def refuse_little_space(folder: Path) -> None:
    """Raise if the folder's disk has not the room that a stack takes."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise RequestError(
            f"the disk of {folder} has only {free >> 20} MB free, and a stack needs "
            f"{_NEEDED_BYTES >> 20}: make room, or choose another --home"
        )


@contextmanager
def _no_space_is_said(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        where = error.filename or folder
        raise RequestError(
            f"no space left for {where}: make room, or choose another --home"
        ) from None


def _held(folder: Path) -> AbstractContextManager[None]:
    return held(folder / "lock", f"the stack in {folder}")


def _clear(folder: Path) -> None:
    """Remove what a dead stack left here; refuse a living one, and files that are not ours."""
    found = State.load(folder)
    if found is None:
        if strange := [entry.name for entry in folder.iterdir() if entry.name != "lock"]:
            raise RequestError(
                f"{folder} holds files that are no stack's ({strange[0]}): choose an empty --home"
            )
        return
    if found.ready and any(_is_up(found, name) for name in found.launches):
        raise RequestError(
            f"a stack is up in {folder}: `onceproof status` shows it, `onceproof down` ends it, "
            "and --home FOLDER starts a second one beside it"
        )
    _remove(found)


def _is_up(state: State, name: str) -> bool:
    identity = state.identity(name)
    return identity is not None and identity.is_alive


def take_down(folder: Path) -> bool:
    """End the stack of this folder and remove its files; False if there was none."""
    if not folder.exists():
        return False
    with _held(folder):
        found = State.load(folder)
        if found is not None:
            _remove(found)
    return found is not None


def _remove(state: State) -> None:
    _end_processes(state)
    for entry in state.folder.iterdir():
        if entry.name == "lock":
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _end_processes(state: State) -> None:
    """SIGKILL to all that is ours, until nothing is left that could start anew."""

    def look() -> bool:
        family = state.processes()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in family:
                one.send(number)
        return not family

    wait_for(look, 60, f"processes of the stack in {state.folder} do not die")
    if state.boot == boot_id():
        store.drop_interlock(state.place("store") / "data")


def _new_state(folder: Path, counts: dict[str, int], *, has_store: bool) -> State:
    names = [
        f"broker:{i + 1}/{kind}" for i in range(counts["brokers"]) for kind in brokers.LISTENERS
    ]
    names += ["master", "master/web"] if counts["workers"] else []
    names += [f"worker:{i + 1}/web" for i in range(counts["workers"])]
    names += ["store"] if has_store else []
    state = State.new(folder, cluster_id=brokers.new_id(), ports=free_ports(names), **counts)
    state.save()
    for place in ("logs", "pids", "locks"):
        (folder / place).mkdir()
    return state


def _launches(state: State, *, is_quick: bool) -> dict[str, Launch]:
    """Make every member's files, the three parts at once, and return how each is started."""
    home = onceproof_home()
    parts: list[Callable[[], dict[str, Launch]]] = []
    if state.brokers:
        parts.append(lambda: _launch_brokers(state, home, is_quick=is_quick))
    if state.workers:
        parts.append(lambda: _launch_cluster(state, home, is_quick=is_quick))
    if "store" in state.ports:
        parts.append(lambda: {"store": store.launch(state, store_tools(home))})
    with ThreadPoolExecutor(len(parts)) as pool:
        done = [pool.submit(part) for part in parts]
        return {name: launch for part in done for name, launch in part.result().items()}


def _launch_brokers(state: State, home: Path, *, is_quick: bool) -> dict[str, Launch]:
    tools = kafka_tools(home, is_quick=is_quick)
    numbers = range(1, state.brokers + 1)
    return {f"broker:{i}": brokers.launch(state, i, tools) for i in numbers}


def _launch_cluster(state: State, home: Path, *, is_quick: bool) -> dict[str, Launch]:
    tools = spark_tools(home, is_quick=is_quick)
    numbers = range(1, state.workers + 1)
    workers = {f"worker:{i}": cluster.launch_worker(state, i, tools) for i in numbers}
    return {"master": cluster.launch_master(state, tools)} | workers


def _start(state: State) -> None:
    found = members(state)
    with ThreadPoolExecutor(len(found)) as pool:
        for done in [pool.submit(_start_one, state, member) for member in found.values()]:
            done.result()
    for name, launch in state.launches.items():
        _notice_stale_archive(state, name, launch)


def _start_one(state: State, member: Member) -> None:
    if member.kind == "worker":  # one that finds no master tries again only after 5 to 15 s
        port = state.ports["master"]
        wait_for(lambda: _answers("127.0.0.1", port), 60, "the master did not open its port")
    state.start(member.name)
    await_health(state, member, state.launches)


def _answers(host: str, port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex((host, port)) == 0


def _notice_stale_archive(state: State, name: str, launch: Launch) -> None:
    """A JVM leaves out an archive that does not fit, without a word: look whether it has it."""
    identity = state.identity(name)
    for option in launch.argv:
        if option.startswith(_ARCHIVE) and identity:
            path = Path(option.removeprefix(_ARCHIVE))
            if not identity.maps_file(path):
                path.unlink(missing_ok=True)
                log.warning("%s did not take its Java archive %s: made anew next time", name, path)
