"""The verbs on one member of a composed stack, carried out by the Docker engine.

Requests go directly to the engine's socket, which is quicker than its command and needs no library.
`DOCKER_HOST` selects another socket than the default one.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

from onceproof.errors import RequestError, StackError, invalid
from onceproof.machine.polling import wait_for
from onceproof.stacks import Member, Verb

SOCKET = "ONCEPROOF_DOCKER_SOCKET"
_USUAL = "unix:///var/run/docker.sock"
_ANSWERS_WITHIN_S = 100  # longer than a member may take to stop
_LABEL = "com.docker.compose"
_STOPS_WITHIN_S = 60
_HEALTHY_WITHIN_S = 120
_KILLED = 137  # 128 and the number of SIGKILL
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Container:
    """A container's state from the engine, with its main process's pid and start time."""

    id: str
    pid: int
    started_at: str
    is_running: bool
    is_paused: bool
    exit_code: int

    @property
    def started(self) -> int:
        """Its start time in milliseconds since 1970."""
        return int(datetime.fromisoformat(self.started_at).timestamp() * 1000)

    def is_same_life(self, other: Container) -> bool:
        """Return whether both are the same start of the same container."""
        return (self.id, self.started_at) == (other.id, other.started_at)


def call(method: str, path: str, **query: Any) -> Any:
    """Send a request to the engine and return its response; raise `StackError` if it refuses."""
    given = os.environ.get("DOCKER_HOST") or _USUAL
    if not given.startswith("unix://"):
        raise RequestError(invalid("DOCKER_HOST", given, "unix://PATH, a socket on this machine"))
    connection = HTTPConnection("localhost")
    with closing(connection), socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(_ANSWERS_WITHIN_S)
        connection.sock = channel
        try:
            channel.connect(given.removeprefix("unix://"))
            connection.request(method, f"/{path}?{urlencode(query)}")
            answer = connection.getresponse()
            text = answer.read()
        except OSError as error:
            raise RequestError(
                f"the Docker engine does not respond at {given} ({error}); start it, or set "
                f"{SOCKET}=PATH for the stack's runner before `docker compose up`"
            ) from None
    if answer.status >= 400:
        body = text.decode(errors="replace").strip()
        raise StackError(f"the Docker engine refused {method} {path}: {answer.status} {body}")
    return json.loads(text) if text else None


def containers_of(project: str) -> dict[str, str]:
    """Return the ids of a Compose project's containers by service name."""
    labels = [f"{_LABEL}.project={project}", f"{_LABEL}.oneoff=False"]
    found = call("GET", "containers/json", all=1, filters=json.dumps({"label": labels}))
    return {one["Labels"][f"{_LABEL}.service"]: one["Id"] for one in found}


def look_at(container: str) -> Container:
    """Return a container's current state."""
    state = call("GET", f"containers/{container}/json")["State"]
    return Container(
        container,
        state["Pid"],
        state["StartedAt"],
        state["Running"],
        state["Paused"],
        state["ExitCode"],
    )


def order(container: str, what: str, **query: Any) -> None:
    """Make the engine perform an action on a container."""
    call("POST", f"containers/{container}/{what}", **query)


def _require_running(member: Member, container: str, verb: Verb) -> Container:
    found = look_at(container)
    if not found.is_running:
        raise RequestError(f"cannot {verb} {member.name}: it is not running; start it")
    if found.is_paused and verb != "resume":
        raise RequestError(f"cannot {verb} {member.name}: it is paused; resume it")
    return found


def kill(member: Member, container: str, running: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Send SIGKILL to the container's main process; the kernel then ends all its processes."""
    before, began = _require_running(member, container, "kill"), time.monotonic()
    order(container, "kill", signal="SIGKILL")
    after = _await_end(member, before)
    if after.exit_code != _KILLED:
        raise StackError(f"{member.name} exited by itself with {after.exit_code}, not killed")
    return _proof(before, began, signal="SIGKILL", ended=[before.pid], exit_code=after.exit_code)


def stop(member: Member, container: str, running: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Request an orderly shutdown of the container's main process, and wait until it has ended."""
    before, began = _require_running(member, container, "stop"), time.monotonic()
    order(container, "stop", t=_STOPS_WITHIN_S)
    after = _await_end(member, before)
    if after.exit_code == _KILLED:
        raise StackError(f"{member.name} did not stop within {_STOPS_WITHIN_S} s and was killed")
    signal = member.stop_signal
    return _proof(before, began, signal=signal, ended=[before.pid], exit_code=after.exit_code)


def pause(member: Member, container: str, running: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Freeze every process of the container; its connections stay open and get no response."""
    before, began = _require_running(member, container, "pause"), time.monotonic()
    order(container, "pause")
    message = f"{member.name} was not paused"
    after = wait_for(lambda: _if(lambda one: one.is_paused, container), _STOPS_WITHIN_S, message)
    _refuse_other_life(member, before, after)
    return _proof(before, began, signal="freeze", paused=[before.pid])


def resume(member: Member, container: str, running: Collection[str]) -> dict[str, Any]:
    """Resume the container; wait until it is healthy, or record in the proof why it cannot be."""
    before, began = _require_running(member, container, "resume"), time.monotonic()
    if before.is_paused:
        order(container, "unpause")
    trouble = await_health(member, container, running)
    return _proof(before, began, changed=before.is_paused, trouble=trouble)


def start(member: Member, container: str, running: Collection[str]) -> dict[str, Any]:
    """Start a dead container with its previous address and volumes.

    Waits until it is healthy, or records in the proof why it cannot be. A running container is left
    alone.
    """
    before, began = look_at(container), time.monotonic()
    if before.is_paused:
        raise RequestError(f"cannot start {member.name}: it is paused; resume it")
    if not before.is_running:
        order(container, "start")
    trouble = await_health(member, container, {*running, member.name})
    return _proof(look_at(container), began, changed=not before.is_running, trouble=trouble)


def await_health(member: Member, container: str, running: Collection[str]) -> str:
    """Wait until the member is healthy; if a member that it needs is missing, return which one."""
    if lacks := member.needs(running):
        return f"waits for {lacks}"
    trouble = ""

    def look() -> bool:
        nonlocal trouble
        if not look_at(container).is_running:
            raise StackError(f"{member.name} exited by itself; see `docker logs {container[:12]}`")
        trouble = member.trouble()
        return not trouble

    try:
        wait_for(look, _HEALTHY_WITHIN_S, f"{member.name} is not healthy", every_s=0.15)
    except StackError as error:
        raise StackError(f"{error}: it {trouble}" if trouble else str(error)) from None
    return ""


def _await_end(member: Member, before: Container) -> Container:
    after = wait_for(
        lambda: _if(lambda one: not one.is_running, before.id),
        _STOPS_WITHIN_S,
        f"{member.name} is still running",
        every_s=_LOOK_EVERY_S,
    )
    _refuse_other_life(member, before, after)
    return after


def _if(is_so: Callable[[Container], bool], container: str) -> Container | None:
    found = look_at(container)
    return found if is_so(found) else None


def _refuse_other_life(member: Member, before: Container, after: Container) -> None:
    # After a restart in between it is unknown which process was struck.
    if not after.is_same_life(before):
        raise StackError(f"{member.name} was restarted by another program at {after.started_at}")


def _proof(found: Container, began: float, **more: Any) -> dict[str, Any]:
    seconds = round(time.monotonic() - began, 3)
    process = {"pid": found.pid, "started": found.started, "container": found.id[:12]}
    return {**process, "started_at": found.started_at, **more, "seconds": seconds}


VERB_BODIES: dict[Verb, Callable[[Member, str, Collection[str]], dict[str, Any]]] = {
    "kill": kill,
    "pause": pause,
    "resume": resume,
    "stop": stop,
    "start": start,
}
