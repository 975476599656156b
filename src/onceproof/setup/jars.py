"""The locked jars: reading of `jars.lock`, filling and verifying of the cache.

A jar is used only if its SHA-256 is the locked one. It enters the cache by a rename, complete or
not at all. A cached jar that was altered is fetched again.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.setup.fetch import Coordinate, fetch
from onceproof.setup.making import making, scratch

LOCK = "jars.lock"
log = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class Jar:
    """A line of the lock: the set it belongs to, its coordinate, and its checksum."""

    set: str
    coordinate: Coordinate
    sha256: str

    def path(self, home: Path) -> Path:
        """Return its path in the cache; the checksum in it keeps different locks apart."""
        return home / "jars" / self.sha256[:16] / self.coordinate.file

    def is_sound(self, home: Path) -> bool:
        """Return whether the cache contains it, complete and unaltered."""
        path = self.path(home)
        return path.is_file() and sha256(path) == self.sha256


def sha256(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_lock() -> list[Jar]:
    """Return every jar of this release's lock, in the lock's order."""
    text = importlib.resources.files("onceproof.setup").joinpath(LOCK).read_text()
    return [_jar(line) for line in text.splitlines() if line and not line.startswith("#")]


def _jar(line: str) -> Jar:
    set_, coordinate, digest = line.split()
    return Jar(set_, Coordinate.parse(coordinate), digest)


def ensure_jars(home: Path, sets: Iterable[str]) -> dict[str, list[Path]]:
    """Return the paths of each set's jars in the lock's order; fetch missing or altered ones."""
    wanted = {name: [jar for jar in read_lock() if jar.set == name] for name in sets}
    everything = [jar for jars in wanted.values() for jar in jars]
    if not all(jar.is_sound(home) for jar in everything):
        _fill(home, everything)
    return {name: [jar.path(home) for jar in jars] for name, jars in wanted.items()}


def _fill(home: Path, wanted: list[Jar]) -> None:
    (home / "jars").mkdir(parents=True, exist_ok=True)
    with making(home) as mark, scratch(home / "jars") as folder:
        missing = [jar for jar in wanted if not jar.is_sound(home)]
        for jar in missing:
            if jar.path(home).exists():
                log.warning("%s was altered; fetching it again", jar.path(home))
        log.info("fetching %d jars into %s", len(missing), home / "jars")
        fetch([jar.coordinate for jar in missing], folder, mark)
        for jar in missing:
            _take(jar, folder / jar.coordinate.file, home)


def _take(jar: Jar, fetched: Path, home: Path) -> None:
    got = sha256(fetched)
    if got != jar.sha256:
        raise RequestError(
            f"{jar.coordinate} has SHA-256 {got}, but the lock has {jar.sha256}: it was altered on "
            "its way; check the mirror or proxy and try again"
        )
    place = jar.path(home)
    place.parent.mkdir(exist_ok=True)
    os.replace(fetched, place)
    place.parent.chmod(0o755)
    place.chmod(0o644)
