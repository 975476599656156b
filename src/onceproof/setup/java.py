"""Java: where it is, which one it is, and the settings that make short runs quick."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from onceproof.errors import RequestError

OLDEST = 17
# The client compiler and one collector thread: a third of the CPU time for a run of minutes,
# and wrong for a throughput benchmark, which is started without them.
QUICK = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:ReservedCodeCacheSize=96m",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
)
# Without these a JVM leaves files in the machine's folder for temporary files.
TIDY = ("-XX:-UsePerfData", "-Djava.awt.headless=true")
REMEDY = (
    f"install a JDK or JRE {OLDEST} or newer (Debian: openjdk-{OLDEST}-jre-headless) and put it on "
    "PATH, or set JAVA_HOME"
)


@dataclass(frozen=True)
class Java:
    """One Java: the path of its program, its major version, and the whole text of its version."""

    program: Path
    major: int
    text: str

    @property
    def folder(self) -> Path:
        """What JAVA_HOME must be for this Java."""
        return self.program.parent.parent


def in_folder(folder: Path) -> str:
    """Return the option that keeps a JVM's passing files in this folder."""
    return f"-Djava.io.tmpdir={folder}"


def find_java() -> Java:
    """Return the Java of JAVA_HOME, else of PATH; refuse one that is missing or too old."""
    given = os.environ.get("JAVA_HOME")
    found = f"{given}/bin/java" if given else shutil.which("java")
    if not found or not os.access(found, os.X_OK):
        where = f"JAVA_HOME={given}" if given else "PATH"
        raise RequestError(f"no Java was found by {where}: {REMEDY}")
    done = _answer(found, os.stat(found).st_mtime_ns)
    program = _program(found, done.stderr)
    named = re.search(r'^\S+ version "[\s\S]*', done.stderr, re.MULTILINE)
    text = named[0].strip() if named else done.stderr.strip()
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    if done.returncode or not version:
        raise RequestError(f"{program} -version says {text!r}, which names no version: {REMEDY}")
    if int(version[1]) < OLDEST:
        raise RequestError(f"{program} is Java {version[1]}, older than {OLDEST}: {REMEDY}")
    return Java(program, int(version[1]), text)


@cache
def _answer(found: str, _changed_ns: int) -> subprocess.CompletedProcess[str]:
    """Ask a Java for its version; once a process for each file, because it starts a JVM."""
    command = [found, "-XshowSettings:properties", "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _program(found: str, said: str) -> Path:
    """Return Java's own program; what was found may be a link, or a script that chooses one."""
    home = re.search(r"^\s*java\.home = (.+)$", said, re.MULTILINE)
    own = Path(home[1]) / "bin/java" if home else Path(found)
    return own.resolve()
