"""How a local stack comes up: files first, then every member at once.

A member is started when the one that it cannot do without answers.
"""

from __future__ import annotations

import errno
import logging
import shutil
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.setup.postgres import refuse_closed
from onceproof.stacks import Member
from onceproof.stacks.links import member as links
from onceproof.stacks.local.ports import free_ports, refuse_taken
from onceproof.stacks.local.taking_down import clear, end_processes, held_folder, refuse_strange
from onceproof.stacks.local.verbs import await_health
from onceproof.stacks.members import (
    airflow,
    brokers,
    cluster,
    store,
)
from onceproof.stacks.members.programs import kafka_tools, spark_tools, store_tools
from onceproof.stacks.members.registry import members
from onceproof.stacks.state import DOOR, Launch, State

PARTS = ("kafka", "spark", "store")
_NEEDED_BYTES = 1 << 29
_ARCHIVE = "-XX:SharedArchiveFile="
log = logging.getLogger(__name__)


def refuse_wrong(
    brokers: int, workers: int, without: Collection[str], *, is_alone: bool = True
) -> None:
    """Raise if a stack of this shape cannot be; one with Airflow may have nothing beside it."""
    if brokers not in (1, 3, 5):
        raise RequestError(f"--brokers {brokers} gives no majority to count on: take 1, 3 or 5")
    if not 1 <= workers <= 8:
        raise RequestError(f"--workers {workers} is out of range: take 1 to 8")
    for part in without:
        if part not in PARTS:
            raise RequestError(f"--without {part} names no part: take {', '.join(PARTS)}")
    if is_alone and set(PARTS) <= set(without):
        raise RequestError("--without everything leaves no stack: leave at least one part in")


def bring_up(
    folder: Path,
    counts: dict[str, int],
    *,
    has_store: bool,
    is_quick: bool,
    has_links: bool = False,
    airflow_runs: Path | None = None,
) -> None:
    """Start every member of a new stack in this folder, and return when all of them serve.

    With links, connections to brokers and store go through them, so that they can be struck. With
    `airflow_runs`, Airflow is among the members, and its runs go there. Whatever fails, nothing is
    left running; the logs stay until the next stack in this folder.
    """
    refuse_strange(folder)
    with _no_space_is_said(folder), held_folder(folder):
        clear(folder)
        _refuse_little_space(folder)
        if has_store:
            refuse_closed(folder)
        more = [*(["store"] if has_store else []), *(airflow.PORTS if airflow_runs else [])]
        state = _new_state(folder, counts, more, has_links=has_links)
        try:
            launches = _launches(state, airflow_runs, is_quick=is_quick)
            state = replace(state, launches=launches)
            state.save()
            start_all(state)
            replace(state, ready=True).save()
        except BaseException:
            end_processes(state)
            raise


def _refuse_little_space(folder: Path) -> None:
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


def _new_state(
    folder: Path, counts: dict[str, int], more: Sequence[str], *, has_links: bool
) -> State:
    names = [
        f"broker:{i + 1}/{kind}" for i in range(counts["brokers"]) for kind in brokers.LISTENERS
    ]
    names += ["master", "master/web"] if counts["workers"] else []
    names += [f"worker:{i + 1}/web" for i in range(counts["workers"])]
    linked = [one for one in (*names, *more) if one.startswith("broker:") or one == "store"]
    doors = [*(f"{DOOR}{one}" for one in linked), links.Links.name] if has_links else []
    ports = free_ports([*names, *more, *doors])
    state = State.new(folder, cluster_id=brokers.new_id(), ports=ports, **counts)
    state.save()
    members = [f"broker:{i + 1}" for i in range(counts["brokers"])]
    members += ["master"] if counts["workers"] else []
    members += [f"worker:{i + 1}" for i in range(counts["workers"])]
    for place in ("logs", "pids", "locks", *members):
        state.place(place).mkdir(mode=0o700)  # topics, and what executors say and keep
    return state


def _launches(state: State, airflow_runs: Path | None, *, is_quick: bool) -> dict[str, Launch]:
    """Make every member's files, all parts at once, and return how each is started."""
    home = onceproof_home()
    parts: list[Callable[[], dict[str, Launch]]] = []
    if state.brokers:
        parts.append(lambda: _launch_brokers(state, home, is_quick=is_quick))
    if state.workers:
        parts.append(lambda: _launch_cluster(state, home, is_quick=is_quick))
    if "store" in state.ports:
        parts.append(lambda: {"store": store.launch(state, store_tools(home))})
    if links.Links.name in state.ports:
        parts.append(lambda: {links.Links.name: links.launch(state)})
    if airflow_runs:
        parts.append(lambda: airflow.launch_airflow(state, airflow_runs))
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


def start_all(state: State) -> None:
    """Start every member at once, and return when all of them serve."""
    found = members(state)
    is_over = threading.Event()
    with ThreadPoolExecutor(len(found)) as pool:
        futures = [pool.submit(_start_one, state, member, is_over) for member in found.values()]
        try:
            for done in as_completed(futures):
                done.result()
        except BaseException:
            is_over.set()
            end_processes(state)  # so that nobody goes on waiting for a member's health
            raise
    for name, launch in state.launches.items():
        _notice_stale_archive(state, name, launch)


def _start_one(state: State, member: Member, is_over: threading.Event) -> None:
    await_first(state, member, is_over.is_set)
    if not is_over.is_set():
        refuse_taken(member.name, member.listens_on)
        main = state.start(member.name)
        await_health(state, member, state.launches)
        if member.kind == "store":
            store.refuse_unseen(state, main)


def await_first(state: State, member: Member, is_over: Callable[[], bool]) -> None:
    """Wait for the member whose port must answer before this one is started, if there is one."""
    first: Member | None = None
    if member.kind == "airflow" and member.listens_on == []:  # its server tells of all the others
        first = airflow.Component(state, airflow.PARTS[0])
    if member.kind == "worker":  # one that finds no master tries again only after 5 to 15 s
        first = cluster.Master(state)
    if first is not None:
        place, name = first.listens_on[0], first.name
        wait_for(lambda: is_over() or _answers(*place), 90, f"{name} opens no port")


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def _notice_stale_archive(state: State, name: str, launch: Launch) -> None:
    """A JVM leaves out an archive that does not fit, without a word: look whether it has it."""
    identity = state.identity(name)
    for option in launch.argv:
        if option.startswith(_ARCHIVE) and identity:
            path = Path(option.removeprefix(_ARCHIVE))
            if identity.is_alive and not identity.maps_file(path):
                path.unlink(missing_ok=True)
                log.warning("%s did not take its Java archive %s: made anew next time", name, path)
