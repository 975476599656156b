"""What the store starts from: PostgreSQL's programs, and a data folder initialised once."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from onceproof.setup.making import Environment, ensure
from onceproof.setup.postgres import find_programs, refuse_closed, run_as
from onceproof.stacks.members import store
from onceproof.stacks.tools import StoreTools, run_tool


def store_tools(home: Path) -> StoreTools:
    """Return what PostgreSQL is started from, its data folder initialised once and then copied."""
    programs = find_programs(home)
    user = run_as()
    refuse_closed(home)
    digest = sha256(f"{programs}{(programs / 'postgres').stat().st_mtime_ns}{user}".encode())
    data = home / "postgres" / f"data-{digest.hexdigest()[:12]}"
    ensure(home, data, lambda part, mark: _initialise(programs, part / data.name, user, mark))
    return StoreTools(programs, data, user)


def _initialise(programs: Path, data: Path, user: dict[str, Any], mark: Environment) -> None:
    if user:
        shutil.chown(data.parent, user["user"], user["group"])
    command = [programs / "initdb", "-D", data, "-U", store.USER, "-A", "reject"]
    command += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    run_tool(command, {**store.ENVIRONMENT, **mark}, "initdb", **user)
