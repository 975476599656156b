"""Java: its location and version, and the options and archives that make short runs quick.

An archive (class data sharing) saves a third of the CPU time of a start. A JVM ignores one that
does not fit its class path, without a message. So an archive's name covers everything it depends
on, and a started stack checks that its JVMs use it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.setup.making import Environment, ensure

OLDEST = 17
# The client compiler and one collector thread need a third of the CPU time in a run of minutes.
# They are wrong for a throughput benchmark, which starts without them.
QUICK = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:ReservedCodeCacheSize=96m",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
)
# Without these a JVM leaves files in /tmp.
TIDY = ("-XX:-UsePerfData", "-Djava.awt.headless=true")
REMEDY = (
    f"install a JDK or JRE {OLDEST} or newer (Debian: openjdk-{OLDEST}-jre-headless) and put it on "
    "PATH, or set JAVA_HOME"
)
# Other checkouts and virtual environments share the folder, each with archives of its own.
_KEPT = 4


@dataclass(frozen=True)
class Java:
    """A Java installation: its program, its major version, and its whole version text."""

    program: Path
    major: int
    text: str

    @property
    def folder(self) -> Path:
        """The JAVA_HOME of this Java."""
        return self.program.parent.parent


def in_folder(folder: Path) -> str:
    """Return the option that makes a JVM keep its temporary files in this folder."""
    return f"-Djava.io.tmpdir={folder}"


def find_java() -> Java:
    """Return the Java of JAVA_HOME, else of PATH; raise if it is missing or too old."""
    given = os.environ.get("JAVA_HOME")
    found = f"{given}/bin/java" if given else shutil.which("java")
    if not found or not os.access(found, os.X_OK):
        where = f"in JAVA_HOME={given}" if given else "on PATH"
        raise RequestError(f"no Java found {where}; {REMEDY}")
    done = _answer(found, os.stat(found).st_mtime_ns)
    program = _program(found, done.stderr)
    found_version = re.search(r'^\S+ version "[\s\S]*', done.stderr, re.MULTILINE)
    text = found_version[0].strip() if found_version else done.stderr.strip()
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    if done.returncode or not version:
        raise RequestError(f"{program} -version prints no version but {text!r}; {REMEDY}")
    if int(version[1]) < OLDEST:
        raise RequestError(f"{program} is Java {version[1]}, older than {OLDEST}; {REMEDY}")
    return Java(program, int(version[1]), text)


@cache
def _answer(found: str, _changed_ns: int) -> subprocess.CompletedProcess[str]:
    # Cached by file and change time, since each call starts a JVM.
    command = [found, "-XshowSettings:properties", "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _program(found: str, output: str) -> Path:
    # The found file may be a link, or a script that selects a Java.
    home = re.search(r"^\s*java\.home = (.+)$", output, re.MULTILINE)
    own = Path(home[1]) / "bin/java" if home else Path(found)
    return own.resolve()


def archive_path(home: Path, name: str, java: Java, class_path: Iterable[Path]) -> Path:
    """Return the path of the archive for this JVM build and exactly these jars, built or not.

    Modification times count in whole seconds, as for the JVM; an image keeps no more than that.
    """
    digest = hashlib.sha256(f"{java.program}\n{java.text}".encode())
    for jar in class_path:
        found = jar.stat()
        digest.update(f"\n{jar} {found.st_size} {int(found.st_mtime)}".encode())
    return home / "archives" / f"{name}-{digest.hexdigest()[:16]}.jsa"


def ensure_archive(home: Path, path: Path, make: Callable[[Path, Environment], None]) -> Path:
    """Build an archive if it does not exist, delete the oldest of its name, and return its path."""
    if not path.exists():
        ensure(home, path, make)
        for old in _oldest_first(path)[:-_KEPT]:
            old.unlink(missing_ok=True)
    return path


def _oldest_first(path: Path) -> list[Path]:
    archives = path.parent.glob(f"{path.name.rpartition('-')[0]}-*.jsa")
    return sorted(archives, key=lambda archive: archive.stat().st_mtime)
