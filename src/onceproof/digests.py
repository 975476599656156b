"""Digests of files: any changed, added or removed file changes the digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from onceproof.errors import EvidenceError


def file_digest(path: Path) -> str:
    """Return the sha256 of one file, or raise `EvidenceError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EvidenceError(f"{path.name} cannot be read: {error.strerror}") from None


def files_digest(paths: Iterable[Path], root: Path) -> str:
    """Return the sha256 over the names below a folder and the contents of files, in order."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root).as_posix()!r} {file_digest(path)}\n".encode())
    return digest.hexdigest()
