"""The Docker engine, asked through its socket as its own command does: quicker, and nothing to add.

`DOCKER_HOST` names another socket than the usual one.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

from onceproof.errors import RequestError, StackError

SOCKET = "ONCEPROOF_DOCKER_SOCKET"
_USUAL = "unix:///var/run/docker.sock"
_ANSWERS_WITHIN_S = 100  # longer than a member may take to stop
_LABEL = "com.docker.compose"


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
