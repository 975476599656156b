"""Java archives (class data sharing): a third of the CPU time of a start.

A JVM ignores an archive that does not fit its class path without a word. So an archive is filed
under everything it depends on; and a stack that has started looks into its JVMs for it.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from onceproof.setup.checks import Check
from onceproof.setup.java import Java
from onceproof.setup.making import Environment, ensure

# Other checkouts and virtual environments share the folder, each with archives of its own.
_KEPT = 4


def archive_path(home: Path, name: str, java: Java, class_path: Iterable[Path]) -> Path:
    """Return where the archive for this JVM build and these very jars lies, made or not.

    Times count in whole seconds, as they do for the JVM; a container's image keeps no more.
    """
    digest = hashlib.sha256(f"{java.program}\n{java.text}".encode())
    for jar in class_path:
        found = jar.stat()
        digest.update(f"\n{jar} {found.st_size} {int(found.st_mtime)}".encode())
    return home / "archives" / f"{name}-{digest.hexdigest()[:16]}.jsa"


def ensure_archive(home: Path, path: Path, make: Callable[[Path, Environment], None]) -> Path:
    """Return an archive that exists, and let go of the oldest of its name."""
    if not path.exists():
        ensure(home, path, make)
        for old in _oldest_first(path)[:-_KEPT]:
            old.unlink(missing_ok=True)
    return path


def _oldest_first(path: Path) -> list[Path]:
    archives = path.parent.glob(f"{path.name.rpartition('-')[0]}-*.jsa")
    return sorted(archives, key=lambda archive: archive.stat().st_mtime)


def check_archive(name: str, java: Java, archive: Path, class_path: str) -> Check:
    """Say whether a JVM takes an archive; one that is not made yet is no fault."""
    name = f"archive of {name}"
    remedy = f"rm {archive}: the next `onceproof setup` makes it anew"
    if not archive.exists():
        return Check(name, True, "not made yet: onceproof setup makes it", required=False)
    command = [str(java.program), "-Xshare:on", f"-XX:SharedArchiveFile={archive}"]
    command += ["-cp", class_path, "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = f"not taken: {' '.join(done.stdout.split())[:200]}" if done.returncode else "taken"
    return Check(name, done.returncode == 0, said, remedy, required=False)
