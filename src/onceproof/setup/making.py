"""What is made once and kept in `ONCEPROOF_HOME`: by one maker at a time, whole or not at all."""

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
    """Return a path that exists: `make` is called if it does not, and comes into place by a rename.

    `make` gets a folder of its own, in which it must leave something of the path's name, and the
    environment by which the processes that it starts are known as a maker's.
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
    """Wait for the home's lock, and yield the environment that marks what is started under it.

    Whoever holds the lock is alone: processes with the home's mark and folders called `part-*` are
    then a dead maker's, and are removed first.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / _LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _end_dead_makers(home)
        yield {MARK: str(home)}


def sweep(home: Path) -> None:
    """Remove what a killed maker left, unless somebody makes something just now."""
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
    """Yield a folder that every user can enter, on the disk where its content will stay."""
    with tempfile.TemporaryDirectory(dir=parent, prefix="part-") as part:
        Path(part).chmod(0o755)
        yield Path(part)
