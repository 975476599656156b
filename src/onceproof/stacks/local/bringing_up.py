"""Start of a local stack: files first, then every member concurrently.

A member starts as soon as the member that it depends on responds.
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

from onceproof.errors import RequestError, out_of_range, unknown
from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.setup.postgres import refuse_closed
from onceproof.stacks import Member
from onceproof.stacks.links import member as links
from onceproof.stacks.local.ports import free_ports, refuse_taken
from onceproof.stacks.local.taking_down import clear, end_processes, folder_lock, refuse_unusable
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


def refuse_invalid_shape(
    brokers: int, workers: int, without: Collection[str], *, is_alone: bool = True
) -> None:
    """Raise if a stack cannot have this shape; only one with Airflow may have no other part."""
    if brokers not in (1, 3, 5):  # an even number tolerates no more failures than one broker less
        raise RequestError(out_of_range("--brokers", brokers, "1, 3 or 5"))
    if not 1 <= workers <= 8:
        raise RequestError(out_of_range("--workers", workers, "1 to 8"))
    for part in without:
        if part not in PARTS:
            raise RequestError(unknown("part in --without", part, PARTS))
    if is_alone and set(PARTS) <= set(without):
        given = ", ".join(without)
        raise RequestError(f"--without {given} leaves an empty stack; keep at least one part")


def bring_up(
    folder: Path,
    counts: dict[str, int],
    *,
    has_store: bool,
    is_quick: bool,
    has_links: bool = False,
    airflow_runs: Path | None = None,
) -> None:
    """Start every member of a new stack in this folder, and return when all are healthy.

    With `has_links`, connections to the brokers and the store go through a proxy. With
    `airflow_runs`, the stack includes Airflow, which writes its runs there. After a failure no
    process is left running; the logs stay until the next stack in this folder.
    """
    refuse_unusable(folder)
    with _disk_full_as_request_error(folder), folder_lock(folder):
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
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise RequestError(
            f"the disk of {folder} has {free >> 20} MB free, and a stack needs "
            f"{_NEEDED_BYTES >> 20}; free disk space, or choose another --home"
        )


@contextmanager
def _disk_full_as_request_error(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        where = error.filename or folder
        raise RequestError(
            f"no space left to write {where}; free disk space, or choose another --home"
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
        state.place(place).mkdir(mode=0o700)  # they contain topics, and executors' logs and files
    return state


def _launches(state: State, airflow_runs: Path | None, *, is_quick: bool) -> dict[str, Launch]:
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
    """Start every member concurrently, and return when all are healthy."""
    found = members(state)
    is_over = threading.Event()
    with ThreadPoolExecutor(len(found)) as pool:
        futures = [pool.submit(_start_one, state, member, is_over) for member in found.values()]
        try:
            for done in as_completed(futures):
                done.result()
        except BaseException:
            is_over.set()
            end_processes(state)  # so that no thread goes on waiting for a member's health
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
    """Wait until the port of the member that this one depends on accepts connections, if any."""
    first: Member | None = None
    if member.kind == "airflow" and member.listens_on == []:  # the server reports their health
        first = airflow.Component(state, airflow.PARTS[0])
    if member.kind == "worker":  # without a master it retries only after 5 to 15 s
        first = cluster.Master(state)
    if first is not None:
        place, name = first.listens_on[0], first.name
        wait_for(lambda: is_over() or _answers(*place), 90, f"{name} has not opened its port")


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def _notice_stale_archive(state: State, name: str, launch: Launch) -> None:
    # A JVM silently ignores an archive that does not fit, so check that it has mapped it.
    identity = state.identity(name)
    for option in launch.argv:
        if option.startswith(_ARCHIVE) and identity:
            path = Path(option.removeprefix(_ARCHIVE))
            if identity.is_alive and not identity.maps_file(path):
                path.unlink(missing_ok=True)
                log.warning("%s ignored its Java archive %s; it will be rebuilt", name, path)
