"""The runtime that a scenario sets for its job: interpreter, Spark and jars."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from onceproof.errors import RequestError, invalid
from onceproof.stacks.tools import SparkTools

# Variables that every JVM obeys: a job has them only if the scenario sets them.
NOT_INHERITED = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_OWN = {"python", "spark_home", "jars"}
_SUBMIT = "spark-submit"
_ANSWERS_WITHIN_S = 60
_WHERE = "import os, pyspark; print(os.path.dirname(pyspark.__file__))"


def python_of(runtime: Mapping[str, Any]) -> str:
    """Return the job's interpreter, by default Onceproof's own."""
    return str(runtime.get("python", sys.executable))


def search_path(runtime: Mapping[str, Any], home: Path | None = None) -> str:
    """Return the PATH of a job; folders of its own runtime come first."""
    spark = home or (Path(runtime["spark_home"]) if "spark_home" in runtime else None)
    folders = [str(Path(python_of(runtime)).parent), *([str(spark / "bin")] if spark else [])]
    path = [os.environ.get("PATH", "/usr/bin:/bin")]
    return ":".join(folders + path if _OWN & runtime.keys() else path + folders)


def tools_of(runtime: Mapping[str, Any], ours: SparkTools, home: Path) -> SparkTools:
    """Return the Spark of a job. A user's Spark has no CDS archive, and gets a home of symlinks.

    `local-cluster` writes its executors' folders to SPARK_HOME, so that must not be the user's.
    """
    if not _OWN & runtime.keys():
        return ours
    source = Path(runtime.get("spark_home") or _spark_of(python_of(runtime)))
    if not (source / "jars").is_dir():
        raise RequestError(invalid("spark_home", str(source), "a folder with bin/ and jars/"))
    if not home.exists():
        home.mkdir(parents=True)
        for entry in source.iterdir():
            (home / entry.name).symlink_to(entry)
    jars = tuple(map(Path, runtime["jars"])) if "jars" in runtime else ours.jars
    if missing := [str(jar) for jar in jars if not jar.is_file()]:
        raise RequestError(f"jar {missing[0]!r} does not exist; use the absolute path of a file")
    return SparkTools(ours.java, home, jars, None, ours.is_quick)


def _spark_of(python: str) -> str:
    try:
        return subprocess.run(
            [python, "-c", _WHERE],
            capture_output=True,
            text=True,
            check=True,
            timeout=_ANSWERS_WITHIN_S,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise RequestError(
            f"{python!r} has no pyspark ({error}); use the interpreter of the job's virtual"
            " environment, or add spark_home"
        ) from None


def submit_command(command: Sequence[str], properties: Path) -> list[str]:
    """Return the command; `spark-submit` gets the settings by an option, others by a variable."""
    program, *words = command
    if Path(program).name != _SUBMIT or "--properties-file" in words:
        return list(command)
    return [program, "--properties-file", str(properties), *words]


def jdbc_of(address: str) -> str:
    """Return the JDBC form of a PostgreSQL address, and any other address unchanged.

    PostgreSQL's driver finds the file of the password by the variable PGPASSFILE.
    """
    found = urlsplit(address)
    if not found.scheme.startswith("postgres"):
        return address
    signed = (("user", found.username), ("password", found.password))
    others = (one for one in found.query.split("&") if not one.startswith("passfile="))
    query = [*(f"{name}={value}" for name, value in signed if value), *others]
    where = found.netloc.rpartition("@")[2]
    return f"jdbc:postgresql://{where}{found.path}?{'&'.join(filter(None, query))}"
