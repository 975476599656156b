"""Starting the members of a new stack: all at once, each when what it cannot do without answers."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from onceproof.machine.polling import wait_for
from onceproof.stacks import Member
from onceproof.stacks.local.ports import refuse_taken
from onceproof.stacks.local.taking_down import end_processes
from onceproof.stacks.local.verbs import await_health
from onceproof.stacks.members import airflow, cluster, store
from onceproof.stacks.members.registry import members
from onceproof.stacks.state import Launch, State

_ARCHIVE = "-XX:SharedArchiveFile="
log = logging.getLogger(__name__)


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
