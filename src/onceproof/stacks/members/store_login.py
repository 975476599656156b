"""The password of a stack's PostgreSQL: made at random for each stack, kept in a file of mode 0600.

The file has the format of libpq's password files. A composed stack has it on a volume that the
store shares with the containers of the runner and of the workers.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from onceproof.errors import StackError
from onceproof.stacks.state import MARK, State
from onceproof.stacks.tools import StoreTools

_LIMIT_S = 60


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
