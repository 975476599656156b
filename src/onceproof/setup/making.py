"""Files that are made once in `ONCEPROOF_HOME`, by one process at a time and atomically."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from onceproof.machine.identity import all_processes

MARK = "ONCEPROOF_MAKING"
_LOCK = "making.lock"
Environment = Mapping[str, str]


def ensure(home: Path, path: Path, make: Callable[[Path, Environment], None]) -> Path:
    """Return a path; if it does not exist, call `make` and rename its result into place.

    `make` gets a scratch folder, in which it must create an entry of the path's name, and the
    environment that marks the processes that it starts as a maker's.
    """
    if path.exists():
        return path
    with making(home) as mark:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.parent.chmod(0o755)
            with scratch(path.parent) as folder:
                make(folder, mark)
                os.replace(folder / path.name, path)
    return path


@contextmanager
def making(home: Path) -> Iterator[Environment]:
    """Wait for the home's lock, and yield the environment that marks processes started under it.

    The lock is exclusive. So processes with the home's mark and folders called `part-*` belong to a
    dead maker, and are removed first.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / _LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _end_dead_makers(home)
        yield {MARK: str(home)}


def sweep(home: Path) -> None:
    """Remove what a killed maker left, unless another process holds the lock."""
    if not (home / _LOCK).exists():
        return
    with (home / _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        _end_dead_makers(home)


def _end_dead_makers(home: Path) -> None:
    for one in all_processes():
        if one.has_environment(MARK, str(home)):
            one.send(signal.SIGKILL)
    for part in home.glob("*/part-*"):
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """Yield a temporary folder that every user can enter, on the same disk as its parent."""
    with tempfile.TemporaryDirectory(dir=parent, prefix="part-") as part:
        Path(part).chmod(0o755)
        yield Path(part)
