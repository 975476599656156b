"""The files with a stack's state, from which any later process can use the stack.

`stack.json` is written before the first process starts and contains how to start each member;
`pids/` contains each member's current process. Every process inherits the stack's random mark
(`machine.spawning`) and has it in its environment. The mark finds processes that a killed `up` did
not record, and processes that outlive the member that forked them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.documents import write_whole
from onceproof.errors import RequestError, StackError
from onceproof.machine.identity import Identity, all_processes, boot_id
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import is_marked, marked, spawn

SCHEMA = 1
MARK = "ONCEPROOF_STACK"
STATE = "stack.json"
LOCK = "onceproof.lock"
VERB_ENDS_S = 200.0  # two faults may hit one member: a strike waits for the other one's cure
LOOPBACK = "127.0.0.1"
DOOR = "door/"  # the prefix of a listener's name for the port of its link


@dataclass(frozen=True)
class Launch:
    """The command that starts a member, the first time and after a fault."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    run_as: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """The properties of a stack that do not change while it is up."""

    folder: Path
    mark: str
    boot: str
    cluster_id: str
    brokers: int
    workers: int
    ports: dict[str, int]
    launches: dict[str, Launch]
    ready: bool = False
    hosts: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def new(cls, folder: Path, **parts: Any) -> State:
        """Return the state of a new stack with a unique mark."""
        return cls(folder=folder, mark=secrets.token_hex(16), boot=boot_id(), launches={}, **parts)

    @classmethod
    def load(cls, folder: Path) -> State | None:
        """Read a folder's stack; return None if the folder has no stack."""
        try:
            data: dict[str, Any] = json.loads((folder / STATE).read_text())
            schema = data.pop("schema")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RequestError(
                f"cannot read {folder}/{STATE} as the state of a stack ({error!r}); end members "
                "that still run and remove the folder, or choose another --home"
            ) from None
        if schema != SCHEMA:
            raise RequestError(
                f"{folder}/{STATE} was written by another release of Onceproof; take that stack "
                "down with the release that started it, or choose another --home"
            )
        launches = {name: Launch(**launch) for name, launch in data.pop("launches").items()}
        return cls(folder=folder, launches=launches, **data)

    def host(self, member: str) -> str:
        """Return the host that a member listens on: its own one, else loopback."""
        return self.hosts.get(member, LOOPBACK)

    def door(self, listener: str) -> int:
        """Return the port for a listener's clients: its link's port if it has one."""
        return self.ports.get(f"{DOOR}{listener}", self.ports[listener])

    def save(self) -> None:
        """Write `stack.json` atomically, readable by this user only: it contains secrets."""
        data = dataclasses.asdict(self) | {"schema": SCHEMA}
        del data["folder"]
        _write(self.folder / STATE, data, mode=0o600)

    def log(self, member: str) -> Path:
        """Return a member's log file; every start appends to it."""
        return self.folder / "logs" / f"{_file(member)}.log"

    def place(self, member: str) -> Path:
        """Return a member's own folder."""
        return self.folder / _file(member)

    def start(self, member: str) -> Identity:
        """Start a member's process and record its identity."""
        launch = self.launches[member]
        found = spawn(
            marked(launch.argv, self.mark),
            log=self.log(member),
            env=launch.env | {MARK: self.mark},
            cwd=Path(launch.cwd),
            run_as=launch.run_as,
        )
        _write(self.folder / "pids" / f"{_file(member)}.json", dataclasses.asdict(found))
        return found

    def identity(self, member: str) -> Identity | None:
        """Return the member's last process, alive or dead; None if none started on this boot."""
        try:
            data = json.loads((self.folder / "pids" / f"{_file(member)}.json").read_text())
        except FileNotFoundError:
            return None
        return Identity(**data) if self.boot == boot_id() else None

    def processes(self) -> list[Identity]:
        """Return every running process of this stack, recorded or not.

        Descendants of a member have inherited the mark. Processes that `up` starts beside the
        members have it only in their environment.
        """
        return [
            one
            for one in all_processes()
            if is_marked(one, self.mark) or one.has_environment(MARK, self.mark)
        ]

    def is_store(self, one: Identity) -> bool:
        """Return whether a process is a PostgreSQL process on this stack's data."""
        launch = self.launches.get("store")
        if launch is None or not one.works_in(self.place("store") / "data"):
            return False
        return one.runs(Path(launch.argv[0]))


@contextlib.contextmanager
def file_lock(
    path: Path, subject: str, *, is_shared: bool = False, wait_s: float = 0
) -> Iterator[None]:
    """Hold a lock file during the block; raise `RequestError` if another process holds it.

    A shared lock excludes only exclusive ones. `subject` describes the locked thing in the error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            wait_for(lambda: _lock(file.fileno(), is_shared=is_shared), wait_s, "")
        except StackError:
            file.seek(0)
            holder = f"another onceproof command (pid {file.read().strip()})"
            raise RequestError(
                f"{subject} is locked by {holder}; wait until it ends, or choose another --home"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _lock(handle: int, *, is_shared: bool) -> bool:
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _file(member: str) -> str:
    return member.replace(":", "-")


def _write(path: Path, data: dict[str, Any], mode: int = 0o644) -> None:
    write_whole(path, json.dumps(data, indent=1, default=str), mode)
