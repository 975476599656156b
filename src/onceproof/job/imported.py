"""The imports of an attempt's Python: files by their digest, packages by version and RECORD."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

from onceproof.errors import EvidenceError

_INSTALLED = ("site-packages", "dist-packages")
_PACKAGE = Path(__file__).parents[1]
# A library folder of any Python: .../lib/python3.11/
_STDLIB = re.compile(r"/lib/(python|pypy)\d+\.\d+/")


@dataclass
class Imported:
    """The imports that one attempt's Python recorded, read incrementally.

    `files` has the digests of the job's own files, by their path within their package, without
    Onceproof's own files: the plan has a digest of its code.
    """

    place: Path
    digest: Callable[[Path], str]
    pythons: set[str] = field(default_factory=set)
    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    packages: dict[str, str] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    _read: int = 0
    _installed: dict[Path, dict[str, metadata.Distribution]] = field(default_factory=dict)

    def look(self) -> None:
        """Read the lines written since the previous call."""
        if not self.place.exists():
            return
        with self.place.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode("utf-8", "surrogateescape").splitlines():
            kind, _, value = line.partition(" ")
            if kind == "python":
                self.pythons.add(value)
            else:
                self._take(Path(value))

    def _take(self, path: Path) -> None:
        folder = next((one for one in path.parents if one.name in _INSTALLED), None)
        if folder is not None and (package := self._package(folder, path)):
            self.packages.setdefault(*package)
        elif folder is not None or not (_is_library(path) or _PACKAGE in path.parents):
            self._take_own(path)

    def _package(self, folder: Path, path: Path) -> tuple[str, str] | None:
        """Return the installed package that a file belongs to: its name, version and digest."""
        if folder not in self._installed:
            self._installed[folder] = _installed_in(folder)
        top = path.relative_to(folder).parts[0].partition(".")[0]
        one = self._installed[folder].get(top)
        return None if one is None else _described(one)

    def _take_own(self, path: Path) -> None:
        real = next((one for one in (path, *path.parents) if one.is_file()), None)
        if real is None:
            self.unreadable.add(path.name)  # removed, or never a file
            return
        try:
            self.files[_name(real)].add(self.digest(real))
        except EvidenceError:
            self.unreadable.add(path.name)


@cache
def _described(one: metadata.Distribution) -> tuple[str, str]:
    """Return a package's name, and its version with its digest; parse its metadata only once."""
    return str(one.metadata["Name"]), f"{one.version}{_digest(one)}"


def _installed_in(folder: Path) -> dict[str, metadata.Distribution]:
    """Return the packages installed in a folder, by the names of their modules."""
    found: dict[str, metadata.Distribution] = {}
    for one in metadata.distributions(path=[str(folder)]):
        tops = {one.metadata["Name"].replace("-", "_")}
        tops |= {part.parts[0].partition(".")[0] for part in one.files or () if part.parts}
        found.update(dict.fromkeys(tops, one))
    return found


def _digest(one: metadata.Distribution) -> str:
    """Return the digest of a package's code by its RECORD; empty if that lists none."""
    code = re.compile(r"(?!\.\.)[^,]*\.(py|so),sha256=.*")
    lines = [line for line in (one.read_text("RECORD") or "").splitlines() if code.fullmatch(line)]
    text = "\n".join(sorted(lines))
    return f" sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}" if lines else ""


def _is_library(path: Path) -> bool:
    return _STDLIB.search(str(path)) is not None


def _name(path: Path) -> str:
    """Return the path of a file from the top of its package, which is the same on each machine."""
    top = path.parent
    while (top / "__init__.py").exists() and top != top.parent:
        top = top.parent
    return path.relative_to(top).as_posix()
