"""Folders that sinks of files write to: whose names readers see, and what the file system must do.

A target's folder has `data/`, which is all that readers look at; whatever is staged or remembered
stands beside it, below names that begin with `_`, as do the marks of a writer inside `data/`.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from onceproof.errors import RequestError, StackError
from onceproof.sinks import Target

_EXCHANGE = 2  # of renameat2
_HERE = -100  # AT_FDCWD: names are as this process sees them
_TRIES = 20


@dataclass(frozen=True)
class File:
    """A file that readers see; it never changes, so name, inode and size know it.

    `batch` is who wrote it, where that stands elsewhere than in its rows.
    """

    path: Path
    inode: int
    size: int
    batch: int | None = None

    @classmethod
    def of(cls, path: Path, batch: int | None = None) -> File:
        """Return the file that stands at a path."""
        found = path.stat()
        return cls(path, found.st_ino, found.st_size, batch)


class Moved(Exception):
    """What was being listed was replaced: look again."""


def folder_of(target: Target) -> Path:
    """Return the target's folder, or raise for what is no folder of this machine."""
    address = target.address.removeprefix("file://")
    if "://" in address or not address.startswith("/"):
        raise RequestError(
            f"address {target.address!r} is no folder of a POSIX file system, and a name that is "
            "changed in one step is what these sinks stand on: write an absolute path"
        )
    if target.name in ("", ".", "..") or "/" in target.name:
        raise RequestError(f"target {target.name!r} is no name of a folder: write one word")
    return Path(address) / target.name


def data_of(target: Target) -> Path:
    """Return the folder that readers look at."""
    return folder_of(target) / "data"


def make(target: Target) -> None:
    """Make the folder, and refuse a file system that cannot do what is asked of it."""
    folder = folder_of(target)
    try:
        data_of(target).mkdir(parents=True, exist_ok=True)
        _try_out(folder / f"_tried-{os.getpid()}")
        sync_folder(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StackError(
            f"the file system of {folder} did not do what {target.name} needs: {error}; take a "
            "local one, whose names can be linked, and exchanged in one step"
        ) from None


def drop(target: Target) -> None:
    """Remove the folder and all that is in it."""
    shutil.rmtree(folder_of(target), ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlive the machine."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> None:
    """Let two names change places in one step: nobody sees either of them missing."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(one), None, str(other))


def publish(path: Path, text: str) -> bool:
    """Make a whole and durable file, unless its name is taken; return whether this call made it.

    Raises `FileNotFoundError`, and makes none, if the folder is gone; one that goes in the middle
    keeps the file, or does not get it: the answer is right either way.
    """
    part = f"_{path.name}.{uuid4().hex}"
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=folder)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        os.link(part, path, src_dir_fd=folder)
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=folder)
        os.fsync(folder)
        os.close(folder)
    return True


def visible(folder: Path) -> Mapping[str, File]:
    """Return the parquet files below a folder by their names: all that readers see.

    Of a folder that was exchanged meanwhile all files are those of before or all of after.
    """
    for _ in range(_TRIES):
        try:
            return dict(_listed(folder, ""))
        except (Moved, FileNotFoundError):
            if not folder.exists():
                break
    raise StackError(f"{folder} could not be listed: it is gone, or changes faster than one looks")


def _listed(folder: Path, below: str) -> Iterator[tuple[str, File]]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                if entry.name[0] in "_.":
                    continue
                if entry.is_dir():
                    yield from _listed(folder / entry.name, f"{below}{entry.name}/")
                elif entry.name.endswith(".parquet"):
                    found = entry.stat()
                    known = File(folder / entry.name, found.st_ino, found.st_size)
                    yield below + entry.name, known
        if folder.stat().st_ino != os.fstat(handle).st_ino:
            raise Moved
    finally:
        os.close(handle)


def _try_out(folder: Path) -> None:
    """Link a file and exchange two folders, so that what cannot be done is known at once."""
    try:
        for name in ("one", "other"):
            (folder / name).mkdir(parents=True)
        if not publish(folder / "one" / "linked", ""):
            raise FileExistsError(f"{folder} is somebody else's")
        exchange(folder / "one", folder / "other")
        if not (folder / "other" / "linked").exists():
            raise NotADirectoryError(f"two names in {folder} were not exchanged")
        sync_folder(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
