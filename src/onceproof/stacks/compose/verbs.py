"""The verbs on one member of a composed stack: the same contract, kept by the Docker engine.

The engine is asked through its socket as its own command does: quicker, and nothing to add.
`DOCKER_HOST` names another socket than the usual one.
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

from onceproof.errors import RequestError, StackError
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
    """One container as the engine tells of it; its first process by pid and start time."""

    id: str
    pid: int
    started_at: str
    is_running: bool
    is_paused: bool
    exit_code: int

    @property
    def started(self) -> int:
        """When it was started, in milliseconds since 1970."""
        return int(datetime.fromisoformat(self.started_at).timestamp() * 1000)

    def is_same_life(self, other: Container) -> bool:
        """Whether both are one start of one container."""
        return (self.id, self.started_at) == (other.id, other.started_at)


def call(method: str, path: str, **query: Any) -> Any:
    """Ask or order something, and return what the engine answers; what it refuses raises."""
    given = os.environ.get("DOCKER_HOST") or _USUAL
    if not given.startswith("unix://"):
        raise RequestError(f"DOCKER_HOST={given} is no socket of this machine: write unix://PATH")
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
                f"the Docker engine does not answer at {given} ({error}): start it, or let the "
                f"stack's runner reach it with {SOCKET}=PATH before `docker compose up`"
            ) from None
    if answer.status >= 400:
        said = text.decode(errors="replace").strip()
        raise StackError(f"the Docker engine refused {method} {path}: {answer.status} {said}")
    return json.loads(text) if text else None


def containers_of(project: str) -> dict[str, str]:
    """Return the ids of a Compose project's containers by the names of their services."""
    labels = [f"{_LABEL}.project={project}", f"{_LABEL}.oneoff=False"]
    found = call("GET", "containers/json", all=1, filters=json.dumps({"label": labels}))
    return {one["Labels"][f"{_LABEL}.service"]: one["Id"] for one in found}


def look_at(container: str) -> Container:
    """Return what a container is now."""
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
    """Have something done to a container."""
    call("POST", f"containers/{container}/{what}", **query)


def _living(member: Member, container: str, verb: Verb) -> Container:
    found = look_at(container)
    if not found.is_running:
        raise RequestError(f"{member.name} is not running, so there is nothing to {verb}: start it")
    if found.is_paused and verb != "resume":
        raise RequestError(f"{member.name} is paused: resume it before you {verb} it")
    return found


def kill(member: Member, container: str, living: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """SIGKILL to the container's first process, with which the kernel ends all others of it."""
    before, began = _living(member, container, "kill"), time.monotonic()
    order(container, "kill", signal="SIGKILL")
    after = _await_end(member, before)
    if after.exit_code != _KILLED:
        raise StackError(f"{member.name} ended by itself, with {after.exit_code}: nothing struck")
    return _proof(before, began, signal="SIGKILL", ended=[before.pid], exit_code=after.exit_code)


def stop(member: Member, container: str, living: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Ask the container's first process to end in good order, and wait until it has."""
    before, began = _living(member, container, "stop"), time.monotonic()
    order(container, "stop", t=_STOPS_WITHIN_S)
    after = _await_end(member, before)
    if after.exit_code == _KILLED:
        raise StackError(f"{member.name} did not end within {_STOPS_WITHIN_S} s and was killed")
    signal = member.stop_signal
    return _proof(before, began, signal=signal, ended=[before.pid], exit_code=after.exit_code)


def pause(member: Member, container: str, living: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Freeze every process of the container: it holds its connections and answers nobody."""
    before, began = _living(member, container, "pause"), time.monotonic()
    order(container, "pause")
    words = f"{member.name} was not frozen"
    after = wait_for(lambda: _if(lambda one: one.is_paused, container), _STOPS_WITHIN_S, words)
    _refuse_other_life(member, before, after)
    return _proof(before, began, signal="freeze", paused=[before.pid])


def resume(member: Member, container: str, living: Collection[str]) -> dict[str, Any]:
    """Let the container go on; it serves again, or the proof says what it lacks."""
    before, began = _living(member, container, "resume"), time.monotonic()
    if before.is_paused:
        order(container, "unpause")
    trouble = await_health(member, container, living)
    return _proof(before, began, changed=before.is_paused, trouble=trouble)


def start(member: Member, container: str, living: Collection[str]) -> dict[str, Any]:
    """Start a dead container with the address and volumes it had; it serves, or the proof says why.

    One that lives is left alone.
    """
    before, began = look_at(container), time.monotonic()
    if before.is_paused:
        raise RequestError(f"{member.name} is paused, not dead: resume it")
    if not before.is_running:
        order(container, "start")
    trouble = await_health(member, container, {*living, member.name})
    return _proof(look_at(container), began, changed=not before.is_running, trouble=trouble)


def await_health(member: Member, container: str, living: Collection[str]) -> str:
    """Wait until the member serves; where what it needs is not there, say so at once."""
    if lacks := member.needs(living):
        return f"it waits for {lacks}"
    said = ""

    def look() -> bool:
        nonlocal said
        if not look_at(container).is_running:
            raise StackError(f"{member.name} ended by itself: see `docker logs {container[:12]}`")
        said = member.trouble()
        return not said

    try:
        wait_for(look, _HEALTHY_WITHIN_S, f"{member.name} does not serve", every_s=0.15)
    except StackError as error:
        raise StackError(f"{error}: {said}" if said else str(error)) from None
    return ""


def _await_end(member: Member, before: Container) -> Container:
    words = f"{member.name} lives on"
    after = wait_for(
        lambda: _if(lambda one: not one.is_running, before.id),
        _STOPS_WITHIN_S,
        words,
        every_s=_LOOK_EVERY_S,
    )
    _refuse_other_life(member, before, after)
    return after


def _if(is_so: Callable[[Container], bool], container: str) -> Container | None:
    found = look_at(container)
    return found if is_so(found) else None


def _refuse_other_life(member: Member, before: Container, after: Container) -> None:
    """Raise where somebody started the container anew meanwhile: who was struck is not known."""
    if not after.is_same_life(before):
        raise StackError(f"{member.name} was started anew at {after.started_at}, by somebody else")


def _proof(found: Container, began: float, **more: Any) -> dict[str, Any]:
    seconds = round(time.monotonic() - began, 3)
    who = {"pid": found.pid, "started": found.started, "container": found.id[:12]}
    return {**who, "started_at": found.started_at, **more, "seconds": seconds}


VERB_BODIES: dict[Verb, Callable[[Member, str, Collection[str]], dict[str, Any]]] = {
    "kill": kill,
    "pause": pause,
    "resume": resume,
    "stop": stop,
    "start": start,
}
