"""Java archives (class data sharing): a third of the CPU time of a start.

A JVM ignores an archive that does not fit its class path without a word. So an archive is filed
under everything it depends on; and a stack that has started looks into its JVMs for it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from onceproof.errors import StackError
from onceproof.setup.java import Java

# Other checkouts and virtual environments share the folder, each with archives of its own.
_KEPT = 4


def archive_path(home: Path, name: str, java: Java, class_path: Iterable[Path]) -> Path:
    """Return where the archive for this JVM build and these very jars lies, made or not."""
    digest = hashlib.sha256(f"{java.program}\n{java.text}".encode())
    for jar in class_path:
        found = jar.stat()
        digest.update(f"\n{jar} {found.st_size} {found.st_mtime_ns}".encode())
    return home / "archives" / f"{name}-{digest.hexdigest()[:16]}.jsa"


def ensure_archive(path: Path, make: Callable[[Path], None]) -> Path:
    """Return the archive, calling `make` with the path to dump to if there is none yet."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        make(part)
        if not part.exists():
            raise StackError(f"the JVM ended without writing its archive {part}: see its log")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    for old in _oldest_first(path)[:-_KEPT]:
        old.unlink(missing_ok=True)
    return path


def _oldest_first(path: Path) -> list[Path]:
    archives = path.parent.glob(f"{path.name.rpartition('-')[0]}-*.jsa")
    return sorted(archives, key=lambda archive: archive.stat().st_mtime)
