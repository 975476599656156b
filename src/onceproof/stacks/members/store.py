"""PostgreSQL, with prepared transactions allowed, a password, and two ways to die.

`store` is the whole of it, so `kill store` is a power cut. `store:postmaster` is the first process
alone: backends in the middle of a query live on and keep the new one from starting, as in
production.

Its password is made at random for each stack, in a file of libpq's format that only the stack's
user may read. Addresses name that file and never hold the password: libpq reads it, in every
process on this machine and in every executor. A composed stack has it on a volume that the store
shares with the containers of the runner and of the workers.
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
from onceproof.variables import concealed, revealed

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
    # Shared memory in files of the data folder: none is left on the machine after a power cut.
    "dynamic_shared_memory_type": "mmap",
}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_LIMIT_S = 60


@dataclass(frozen=True)
class Store:
    """The PostgreSQL of the stack; with `is_postmaster` only its first process."""

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
        """What can be done to it; its first process alone can be neither stopped nor started."""
        return ("kill", "pause", "resume") if self.is_postmaster else VERBS

    @property
    def address(self) -> str:
        """The connection string; it names the file that holds the password."""
        place = f"{self.state.host(self.name)}:{self.state.door('store')}"
        return f"postgresql://{USER}@{place}/postgres?passfile={quote(str(login_of(self.state)))}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [(self.state.host(self.name), self.state.ports["store"])]

    @property
    def data(self) -> Path:
        """Its data folder, in which all of its processes work."""
        return self.state.place("store") / "data"

    def needs(self, living: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """It needs nobody."""
        return ""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member, the postmaster first.

        They are known by their working folder, so backends whose postmaster is dead are found too.
        """
        first = [main] if main and main.is_alive else []
        if self.is_postmaster:
            return first
        return first + [one for one in all_processes() if one != main and self.state.is_store(one)]

    def remove_leftovers(self) -> None:
        """Remove what a dead postmaster leaves to keep others away: its segment and its lock file.

        A zombie's pid still looks taken, and PostgreSQL would refuse to start beside it.
        """
        drop_interlock(self.data)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def trouble(self) -> str:
        """Say what keeps the store from serving."""
        return store_trouble(self.address)


def store_trouble(address: str) -> str:
    """Say what keeps the PostgreSQL at an address from answering; empty if nothing does."""
    import psycopg

    try:
        with psycopg.connect(revealed(address), connect_timeout=2, autocommit=True) as connection:
            connection.execute("select 1")
    except psycopg.Error as error:
        return f"it answers no query: {concealed(' '.join(str(error).split()), address)}"
    return ""


def launch(state: State, tools: StoreTools) -> Launch:
    """Copy the prepared data folder, unless it was, and return how the store is started."""
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
    is_local = state.host("store") == LOOPBACK  # else its clients are other hosts
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
    """Copy the prepared data folder as the store's user, by a process of the stack."""
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
            f"the prepared PostgreSQL data could not be copied to {target}: {done.stderr.strip()}"
        )


def drop_interlock(data: Path) -> None:
    """Remove the System V segment by which a dead postmaster kept others from its data folder.

    A server that was shut down has removed it; after a power cut only a restart would. Call this
    when none of its processes lives, on the boot that it ran on.
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
    """Raise if this user cannot see where PostgreSQL's processes work.

    Its backends are known by that alone: a power cut would spare them, and nobody would notice.
    """
    if main.is_alive and not state.is_store(main):
        raise StackError(
            f"/proc/{main.pid}/cwd and exe, of the user that PostgreSQL runs as, cannot be read: "
            "give this process the capability SYS_PTRACE, or start the stack --without store"
        )


def login_of(state: State) -> Path:
    """Return the password file of a stack's store."""
    return state.place("login") / "pgpass"


def passfile_of(address: str) -> str:
    """Return the password file that an address names; empty if it names none."""
    return parse_qs(urlsplit(address).query).get("passfile", [""])[0]


def password_in(passfile: str) -> str:
    """Return the password that a stack's password file holds."""
    try:
        return Path(passfile).read_text().strip().rpartition(":")[2]
    except OSError as error:
        raise StackError(
            f"the password of the store cannot be read ({error}): run as the user that started"
            " the stack"
        ) from None


def make_login(
    state: State, tools: StoreTools, data: Path, user: str, env: Mapping[str, str]
) -> None:
    """Give the store's user a new password in a data folder that no server uses, and keep it."""
    password = secrets.token_hex(24)
    _alter_role(tools, data, f"alter role {user} password '{password}'", {**env, MARK: state.mark})
    path = login_of(state)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(f"*:*:*:{user}:{password}\n")


def _alter_role(tools: StoreTools, data: Path, statement: str, env: Mapping[str, str]) -> None:
    """Run a statement in PostgreSQL's single-user mode; it is read from standard input."""
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
        said = " / ".join(one for one in done.stderr.splitlines() if "password" not in one)
        raise StackError(f"PostgreSQL did not take a password for its user: {said}")
