"""A new run: its own directory, its name, and its plan as a file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

from onceproof.documents import write_whole
from onceproof.errors import RequestError
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan

_LONGEST_NAME = 60  # a schema of PostgreSQL may have 63
_TRIES = 100


def make_directory(
    folder: Path, seed: int, now: datetime | None, *, is_open: bool = False
) -> RunDirectory:
    """Make a new directory; runs of one seed in one second are numbered.

    Only its owner may read it, unless it is open. A folder of runs that is created here gets a
    .gitignore: runs do not make the repository of the job dirty.
    """
    time = f"{(now or datetime.now(UTC)).astimezone(UTC):%Y%m%dT%H%M%S}"
    if not folder.parent.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        (folder.parent / ".gitignore").write_text("*\n")
    folder.mkdir(exist_ok=True)
    for number in range(1, _TRIES):
        root = folder / (f"{time}-{seed}" if number == 1 else f"{time}-{seed}-{number}")
        try:
            root.mkdir(mode=0o777 if is_open else 0o700)
        except FileExistsError:
            continue
        return RunDirectory(root)
    raise RequestError(f"{folder} already has {_TRIES} runs of seed {seed} of one second; wait")


def name_of(scenario: str, seed: int, root: Path) -> str:
    """Return the name of a run's topics, tables and processes: scenario, time, seed and a digest.

    The digest of its directory distinguishes runs of one second.
    """
    time = root.name.partition("-")[0].lower()
    digest = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:6]
    tail = f"_{time}_{seed}_{digest}"
    head = re.sub("_+", "_", scenario)[: _LONGEST_NAME - len(tail)]
    return head.rstrip("_") + tail


def seal(run: RunDirectory) -> None:
    """Make the files of a run readable by their owner only, unless the run is open.

    Other users cannot enter the directory itself; this protects copies of it.
    """
    if run.root.stat().st_mode & 0o077:
        return
    for place, folders, files in os.walk(run.root):
        for path in (Path(place, name) for name in (*folders, *files)):
            with contextlib.suppress(OSError):  # removed meanwhile, or written by another user
                if not path.is_symlink() and (mode := path.stat().st_mode) & 0o077:
                    path.chmod(mode & 0o700)


def write_plan(run: RunDirectory, plan: Plan) -> RunDirectory:
    """Write the plan atomically."""
    write_whole(run.plan, json.dumps(plan.document, indent=1) + "\n")
    return run
