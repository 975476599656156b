"""PostgreSQL with prepared transactions and a password, as a whole and as its postmaster alone.

`store` is all of its processes, so `kill store` is a power cut. `store:postmaster` is only the
first process: backends in the middle of a query keep running and prevent a new start, as in
production.

The password is random for each stack, in a file of libpq's format that only the stack's user may
read. Addresses name that file and never contain the password: libpq reads it, in every process on
this machine and in every executor. In a composed stack the file is on a volume that the store
shares with the containers of the runner and the workers.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from onceproof.documents import write_whole
from onceproof.errors import StackError
from onceproof.machine.identity import Identity, all_processes
from onceproof.stacks import VERBS, Verb
from onceproof.stacks.state import LOOPBACK, MARK, Launch, State
from onceproof.stacks.tools import StoreTools
from onceproof.variables import conceal, resolve

USER = "onceproof"
_LOCAL = f"{LOOPBACK}/32"
_SETTINGS = {
    "unix_socket_directories": "",
    "max_prepared_transactions": 64,
    "max_connections": 100,
    "shared_buffers": "32MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    # Shared memory in files of the data folder, so that nothing is left after a power cut.
    "dynamic_shared_memory_type": "mmap",
}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_LIMIT_S = 60


@dataclass(frozen=True)
class Store:
    """The stack's PostgreSQL; with `is_postmaster` only its first process."""

    state: State
    is_postmaster: bool = False

    kind = "store"
    stop_signal = "SIGINT"  # a fast shutdown: open transactions are rolled back, prepared ones stay

    @property
    def name(self) -> str:
        """`store`, or `store:postmaster`."""
        return "store:postmaster" if self.is_postmaster else "store"

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """Its verbs; the postmaster alone can be neither stopped nor started."""
        return ("kill", "pause", "resume") if self.is_postmaster else VERBS

    @property
    def address(self) -> str:
        """Its connection string, which names the password file."""
        place = f"{self.state.host(self.name)}:{self.state.door('store')}"
        return f"postgresql://{USER}@{place}/postgres?passfile={quote(str(login_of(self.state)))}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [(self.state.host(self.name), self.state.ports["store"])]

    @property
    def data(self) -> Path:
        """Its data folder, the working directory of all its processes."""
        return self.state.place("store") / "data"

    def needs(self, running: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """Return nothing: it needs no other member."""
        return ""

    def family(self, main: Identity | None) -> list[Identity]:
        """Return its processes, the postmaster first.

        They are found by their working directory, so backends of a dead postmaster are included.
        """
        first = [main] if main and main.is_alive else []
        if self.is_postmaster:
            return first
        return first + [one for one in all_processes() if one != main and self.state.is_store(one)]

    def remove_leftovers(self) -> None:
        """Remove a dead postmaster's shared memory segment and lock file.

        If the postmaster is a zombie, PostgreSQL would consider its pid in use and refuse to start.
        """
        drop_interlock(self.data)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def trouble(self) -> str:
        """Return why the store is not healthy."""
        return store_trouble(self.address)


def store_trouble(address: str) -> str:
    """Return why the PostgreSQL at an address is not healthy; empty if it answers a query."""
    import psycopg

    try:
        with psycopg.connect(resolve(address), connect_timeout=2, autocommit=True) as connection:
            connection.execute("select 1")
    except psycopg.Error as error:
        return f"answers no query: {conceal(' '.join(str(error).split()), address)}"
    return ""


def launch(state: State, tools: StoreTools) -> Launch:
    """Copy the prepared data folder once, and return the store's start command."""
    place = state.place("store")
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    data, part = place / "data", place / "data.part"
    if not data.exists():
        shutil.rmtree(part, ignore_errors=True)
        copy_data(tools, part, {MARK: state.mark})
        make_login(state, tools, part, USER, ENVIRONMENT)
        part.rename(data)
    elif not login_of(state).exists():
        make_login(state, tools, data, USER, ENVIRONMENT)
    is_local = state.host("store") == LOOPBACK  # else its clients are on other hosts
    access = place / "pg_hba.conf"
    write_whole(access, f"host all all {_LOCAL if is_local else 'samenet'} scram-sha-256\n")
    settings = _SETTINGS | {
        "listen_addresses": LOOPBACK if is_local else "*",
        "port": state.ports["store"],
        "hba_file": access,
    }
    argv = [str(tools.programs / "postgres"), "-D", str(data)]
    for name, value in settings.items():
        argv += ["-c", f"{name}={value}"]
    return Launch(argv, ENVIRONMENT, str(place), dict(tools.run_as))


def copy_data(tools: StoreTools, target: Path, mark: dict[str, str]) -> None:
    """Copy the prepared data folder as the store's user, in a process with the stack's mark."""
    target.mkdir()
    if tools.run_as:
        shutil.chown(target, tools.run_as["user"], tools.run_as["group"])
    target.chmod(0o700)
    done = subprocess.run(
        ["cp", "-R", "--reflink=auto", f"{tools.data}/.", str(target)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=ENVIRONMENT | mark,
        **tools.run_as,
    )
    if done.returncode:
        raise StackError(
            f"cannot copy the prepared PostgreSQL data to {target}: {done.stderr.strip()}"
        )


def drop_interlock(data: Path) -> None:
    """Remove the System V segment with which a dead postmaster locks its data folder.

    A server that was shut down has removed it; after a power cut only a restart would. Call this
    after all of its processes have ended, and only on the boot that it ran on.
    """
    try:
        words = (data / "postmaster.pid").read_text().splitlines()[6].split()
    except (OSError, IndexError):
        return
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        key, number, _, _, _, _, attached, *_ = line.split()
        if [key, number] == words and attached == "0":
            ctypes.CDLL(None).shmctl(int(number), 0, None)  # 0 is IPC_RMID


def refuse_unseen(state: State, main: Identity) -> None:
    """Raise `StackError` if this user cannot see the working directories of PostgreSQL's processes.

    Backends are found only by their working directory: a power cut would silently spare them.
    """
    if main.is_alive and not state.is_store(main):
        raise StackError(
            f"cannot read /proc/{main.pid}/cwd and exe of the user that PostgreSQL runs as; give "
            "this process the capability SYS_PTRACE, or start the stack --without store"
        )


def login_of(state: State) -> Path:
    """Return the path of the store's password file."""
    return state.place("login") / "pgpass"


def passfile_of(address: str) -> str:
    """Return the password file named in an address; empty if it names no file."""
    return parse_qs(urlsplit(address).query).get("passfile", [""])[0]


def password_in(passfile: str) -> str:
    """Return the password in a stack's password file."""
    try:
        return Path(passfile).read_text().strip().rpartition(":")[2]
    except OSError as error:
        raise StackError(
            f"cannot read the store's password ({error}); run as the user that started the stack"
        ) from None


def make_login(
    state: State, tools: StoreTools, data: Path, user: str, env: Mapping[str, str]
) -> None:
    """Set a new password for the store's user in an unused data folder, and write it to a file."""
    password = secrets.token_hex(24)
    _alter_role(tools, data, f"alter role {user} password '{password}'", {**env, MARK: state.mark})
    path = login_of(state)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(f"*:*:*:{user}:{password}\n")


def _alter_role(tools: StoreTools, data: Path, statement: str, env: Mapping[str, str]) -> None:
    # The statement goes to PostgreSQL's single-user mode on standard input, not in an argument.
    settings = ["-c", "password_encryption=scram-sha-256", "-c", "log_statement=none"]
    settings += ["-c", "dynamic_shared_memory_type=mmap"]
    command = [str(tools.programs / "postgres"), "--single", "-j", *settings]
    done = subprocess.run(
        [*command, "-D", str(data), "postgres"],
        input=f"{statement};\n\n",
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=env,
        timeout=_LIMIT_S,
        **tools.run_as,
    )
    if done.returncode or "ERROR:" in done.stderr:
        errors = " / ".join(one for one in done.stderr.splitlines() if "password" not in one)
        raise StackError(f"PostgreSQL refused a password for its user: {errors}")
