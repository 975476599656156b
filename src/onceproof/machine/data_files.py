"""Discovery of the data files in a folder."""

from __future__ import annotations

import os
from pathlib import Path


def data_files(folder: Path) -> list[Path]:
    """Return the files in a folder and below it, in order; links to folders are followed.

    Names that begin with `.`, or with `_` without containing `=`, are skipped, and so is everything
    below such a folder: Spark marks temporary files this way. Raises `OSError` for a folder that
    cannot be listed or that links to one of its own parents; no folder is skipped silently.
    """
    return sorted(_below(folder, ()))


def is_hidden(name: str) -> bool:
    """Return whether a file or folder of this name is skipped as temporary."""
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
