"""Folders that file sinks write to: their layout, and the operations they need of a file system.

Readers look only at `data/` of a target's folder. Staged files and the memory of writers are beside
it, under names that begin with `_`, as are the marks of a writer inside `data/`.
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

from onceproof.errors import RequestError, StackError, invalid
from onceproof.sinks import Target

_EXCHANGE = 2  # of renameat2
_HERE = -100  # AT_FDCWD: names are as this process sees them
_TRIES = 20


@dataclass(frozen=True)
class File:
    """A visible file; it never changes, so it is identified by name, inode and size.

    `batch` is the batch that wrote it, if the rows do not contain it.
    """

    path: Path
    inode: int
    size: int
    batch: int | None = None

    @classmethod
    def of(cls, path: Path, batch: int | None = None) -> File:
        """Return the file at a path."""
        found = path.stat()
        return cls(path, found.st_ino, found.st_size, batch)


class ReplacedError(Exception):
    """The folder was replaced while it was being listed; list it again."""


def folder_of(target: Target) -> Path:
    """Return the target's folder; raises unless it is a folder of this machine."""
    address = target.address.removeprefix("file://")
    if "://" in address or not address.startswith("/"):
        use = "an absolute path on a POSIX file system: these sinks need atomic renames"
        raise RequestError(invalid("address", target.address, use))
    if target.name in ("", ".", "..") or "/" in target.name:
        raise RequestError(invalid("target", target.name, "the name of a folder, without slashes"))
    return Path(address) / target.name


def data_of(target: Target) -> Path:
    """Return the folder with the visible files."""
    return folder_of(target) / "data"


def make(target: Target) -> None:
    """Create the folder; raises if the file system lacks an operation that the sinks need."""
    folder = folder_of(target)
    try:
        data_of(target).mkdir(parents=True, exist_ok=True)
        _try_out(folder / f"_tried-{os.getpid()}")
        sync_folder(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StackError(
            f"the file system of {folder} cannot hold {target.name}: {error}; use a local one that"
            " supports hard links and renameat2 with RENAME_EXCHANGE"
        ) from None


def drop(target: Target) -> None:
    """Remove the folder and its content."""
    shutil.rmtree(folder_of(target), ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable (fsync)."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> None:
    """Exchange two names atomically: no reader finds either of them missing."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(one), None, str(other))


def publish(path: Path, text: str) -> bool:
    """Create a complete and durable file unless its name is taken; return whether it was created.

    Raises `FileNotFoundError` if the folder is gone. If the folder is removed meanwhile, it either
    got the file or did not; the result is correct in both cases.
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
    """Return the visible parquet files below a folder, by their names.

    If a folder is exchanged meanwhile, its files are all from before or all from after.
    """
    for _ in range(_TRIES):
        try:
            return dict(_listed(folder, ""))
        except (ReplacedError, FileNotFoundError):
            if not folder.exists():
                break
    raise StackError(f"{folder} cannot be listed: it is gone, or changed {_TRIES} times meanwhile")


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
                    file = File(folder / entry.name, found.st_ino, found.st_size)
                    yield below + entry.name, file
        if folder.stat().st_ino != os.fstat(handle).st_ino:
            raise ReplacedError
    finally:
        os.close(handle)


def _try_out(folder: Path) -> None:
    # fail at once on a file system without hard links or atomic exchange
    try:
        for name in ("one", "other"):
            (folder / name).mkdir(parents=True)
        if not publish(folder / "one" / "linked", ""):
            raise FileExistsError(f"{folder} is used by another process")
        exchange(folder / "one", folder / "other")
        if not (folder / "other" / "linked").exists():
            raise NotADirectoryError(f"two names in {folder} were not exchanged")
        sync_folder(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
