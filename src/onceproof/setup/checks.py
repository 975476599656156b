"""Checks of this machine's prerequisites, each with a remedy.

`onceproof doctor` prints all of them. Whatever starts Spark raises if one of `SPARK_CHECKS` fails.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home
from onceproof.setup.jars import read_lock
from onceproof.setup.java import Java, find_java
from onceproof.setup.libraries import (
    CONFLUENT,
    GREAT_EXPECTATIONS,
    KAFKA_PYTHON,
    PSYCOPG,
    PYSPARK,
    describe_missing,
    install_command,
    missing,
)
from onceproof.setup.postgres import find_on_machine

_MEMORY_MB = 3000
_DISK_MB = 2000

# Every run needs the first two; the others depend on the scenario.
_NEEDED, _OFTEN = (GREAT_EXPECTATIONS, KAFKA_PYTHON), (CONFLUENT, PSYCOPG)


@dataclass(frozen=True)
class Check:
    """The result of one check: the value found, whether it is sufficient, and a remedy if not."""

    name: str
    ok: bool
    value: str
    remedy: str = ""
    required: bool = True


def run_checks() -> list[Check]:
    """Run every check of what a stack and a run need from this machine."""
    return [check() for check in CHECKS]


def refuse_unsound_spark() -> None:
    """Raise `RequestError` if the installed parts of Spark are of different releases."""
    for look in SPARK_CHECKS:
        check = look()
        if not check.ok:
            raise RequestError(f"{check.name}: {check.value}; {check.remedy}")


def _system() -> Check:
    value = f"{platform.system()} {platform.machine()}"
    ok = platform.system() == "Linux" and Path("/proc/self/stat").exists()
    return Check("system", ok, value, "run on Linux: processes are identified through /proc")


def _python() -> Check:
    ok = (3, 11) <= sys.version_info[:2] <= (3, 13)
    remedy = "create the environment with Python 3.11 to 3.13, as in make setup PYTHON=python3.12"
    return Check("python", ok, platform.python_version(), remedy)


def _java() -> Check:
    try:
        java = find_java()
    except RequestError as error:
        return Check("java", False, str(error).partition("; ")[0], str(error).partition("; ")[2])
    return Check("java", True, f"{java.major} ({java.program})")


def _pyspark() -> Check:
    # Another package can overwrite pyspark's Python files and leave its jars.
    if not PYSPARK.is_installed:
        return Check("pyspark", False, describe_missing([PYSPARK]), install_command([PYSPARK]))
    jars = sorted(_spark_folder().glob("jars/spark-core_2.13-*.jar"))
    inside = jars[0].stem.rpartition("-")[2] if jars else "none"
    outside = importlib.metadata.version("pyspark") if jars else "none"
    remedy = "reinstall pyspark: its Python files and its jars must be of one release"
    return Check("pyspark", inside == outside, f"pyspark {outside}, its jars {inside}", remedy)


def _libraries() -> Check:
    absent = missing([*_NEEDED, *_OFTEN])
    if not absent:
        found = ", ".join(f"{one.name} {one.version}" for one in (*_NEEDED, *_OFTEN))
        return Check("libraries", True, found)
    is_required = any(one in _NEEDED for one in absent)
    return Check(
        "libraries", False, describe_missing(absent), install_command(absent), required=is_required
    )


def _connector() -> Check:
    (connector,) = (
        jar.coordinate for jar in read_lock() if jar.coordinate.artifact.startswith("spark-sql-kaf")
    )
    ours = importlib.metadata.version("pyspark") if _is_installed("pyspark") else "none"
    remedy = "install the locked pyspark: the Kafka connector must be of the same Spark release"
    value = f"connector {connector.version}, pyspark {ours}"
    return Check("connector", connector.version == ours, value, remedy)


def _client() -> Check:
    found = _is_installed("pyspark-client")
    remedy = "pip uninstall pyspark-client, which overwrites pyspark's files, and reinstall pyspark"
    return Check("pyspark-client", not found, "installed" if found else "absent", remedy)


def _worker_python() -> Check:
    given = os.environ.get("PYSPARK_PYTHON")
    if not given:
        return Check("PYSPARK_PYTHON", True, f"not set: {sys.executable}")
    remedy = f"set it to {sys.executable}: driver and executors need the same minor version"
    program = shutil.which(given)
    if not program:
        return Check("PYSPARK_PYTHON", False, f"{given} is not a program", remedy)
    look = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    done = subprocess.run([program, "-c", look], capture_output=True, text=True, check=False)
    own = ".".join(map(str, sys.version_info[:2]))
    ok = done.stdout.strip() == own
    return Check("PYSPARK_PYTHON", ok, f"{given} is Python {done.stdout.strip()}", remedy)


def _memory() -> Check:
    lines = Path("/proc/meminfo").read_text().splitlines()
    (free,) = (int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable"))
    remedy = f"a stack with a job needs about {_MEMORY_MB} MB; end programs, or use --brokers 1"
    return Check("memory", free >= _MEMORY_MB, f"{free} MB available", remedy, required=False)


def _disk() -> Check:
    place = onceproof_home()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free >> 20
    remedy = "free disk space, or set ONCEPROOF_HOME to a larger disk"
    return Check("disk", free >= _DISK_MB, f"{free} MB free in {onceproof_home()}", remedy)


def _jars() -> Check:
    wanted = [jar for jar in read_lock() if not jar.set.startswith("store-")]
    absent = [jar for jar in wanted if not jar.is_sound(onceproof_home())]
    value = f"{len(absent)} of {len(wanted)} locked jars missing" if absent else "all present"
    return Check("jars", not absent, value, "run onceproof setup to fetch them", required=False)


def _postgres() -> Check:
    try:
        found = find_on_machine()
    except RequestError as error:
        return Check("postgresql", False, str(error), "unset ONCEPROOF_POSTGRES", required=False)
    return Check("postgresql", True, str(found or "none; an embedded build is fetched"))


def check_archive(name: str, java: Java, archive: Path, class_path: str) -> Check:
    """Check that a JVM uses an archive; one that is not built yet is no failure."""
    name = f"archive of {name}"
    remedy = f"rm {archive}; the next `onceproof setup` rebuilds it"
    if not archive.exists():
        return Check(name, True, "not built yet; onceproof setup builds it", required=False)
    command = [str(java.program), "-Xshare:on", f"-XX:SharedArchiveFile={archive}"]
    command += ["-cp", class_path, "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    value = f"not used: {' '.join(done.stdout.split())[:200]}" if done.returncode else "used"
    return Check(name, done.returncode == 0, value, remedy, required=False)


def _spark_folder() -> Path:
    spec = importlib.util.find_spec("pyspark")
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else Path("/nonexistent")


def _is_installed(name: str) -> bool:
    return any(True for _ in importlib.metadata.distributions(name=name))


SPARK_CHECKS: tuple[Callable[[], Check], ...] = (_pyspark, _connector, _client, _worker_python)
CHECKS: tuple[Callable[[], Check], ...] = (
    *(_system, _python, _java),
    *SPARK_CHECKS,
    *(_libraries, _memory, _disk, _jars, _postgres),
)
