"""The files of a folder that hold data; none is left out without a word."""

from __future__ import annotations

import os
from pathlib import Path


def data_files(folder: Path) -> list[Path]:
    """Return the files in a folder and below it, in order; links to folders are followed.

    A name that begins with `.`, or with `_` and holds no `=`, is no data, nor is what is below a
    folder of such a name: Spark marks temporary files so. Raises `OSError` for a folder that cannot
    be listed, or one that links to a folder above it.
    """
    return sorted(_below(folder, ()))


def is_hidden(name: str) -> bool:
    """Return whether a file or folder of this name is no data."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _below(folder: Path, above: tuple[tuple[int, int], ...]) -> list[Path]:
    status = folder.stat()
    here = status.st_dev, status.st_ino
    if here in above:
        raise OSError(0, "the link leads to a folder above it", str(folder))
    found: list[Path] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_hidden(entry.name):
                continue
            path = folder / entry.name
            if entry.is_dir():
                found += _below(path, (*above, here))
            else:
                found.append(path)
    return found
