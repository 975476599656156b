"""What a job runs on, where the scenario says so: its interpreter, its Spark, its jars."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from onceproof.errors import RequestError
from onceproof.stacks.tools import SparkTools

# What every JVM obeys: a job has these only where the scenario says so.
NOT_INHERITED = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_OWN = {"python", "spark_home", "jars"}
_SUBMIT = "spark-submit"
_ANSWERS_WITHIN_S = 60
_WHERE = "import os, pyspark; print(os.path.dirname(pyspark.__file__))"


def python_of(runtime: Mapping[str, Any]) -> str:
    """Return the job's interpreter: Onceproof's own, where nothing is said."""
    return str(runtime.get("python", sys.executable))


def search_path(runtime: Mapping[str, Any], home: Path | None = None) -> str:
    """Return where a job's programs are looked for; what it has of its own comes first."""
    spark = home or (Path(runtime["spark_home"]) if "spark_home" in runtime else None)
    folders = [str(Path(python_of(runtime)).parent), *([str(spark / "bin")] if spark else [])]
    path = [os.environ.get("PATH", "/usr/bin:/bin")]
    return ":".join(folders + path if _OWN & runtime.keys() else path + folders)


def tools_of(runtime: Mapping[str, Any], ours: SparkTools, home: Path) -> SparkTools:
    """Return what a job's JVMs start from. Another Spark has no Java archive, and a home of links.

    `local-cluster` writes its executors' folders into SPARK_HOME, so that is none of the user's.
    """
    if not _OWN & runtime.keys():
        return ours
    source = Path(runtime.get("spark_home") or _spark_of(python_of(runtime)))
    if not (source / "jars").is_dir():
        raise RequestError(
            f"spark_home {source} holds no Spark: write the folder in which bin/ and jars/ are"
        )
    if not home.exists():
        home.mkdir(parents=True)
        for entry in source.iterdir():
            (home / entry.name).symlink_to(entry)
    jars = tuple(map(Path, runtime["jars"])) if "jars" in runtime else ours.jars
    if missing := [str(jar) for jar in jars if not jar.is_file()]:
        raise RequestError(f"jar {missing[0]} is not there: write the whole path of a file")
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
            f"{python} has no pyspark ({error}): write the interpreter of the job's virtual"
            " environment, or spark_home beside it"
        ) from None


def submitted(command: Sequence[str], properties: Path) -> list[str]:
    """Return the command; `spark-submit` is told of the settings that others find by themselves."""
    program, *words = command
    if Path(program).name != _SUBMIT or "--properties-file" in words:
        return list(command)
    return [program, "--properties-file", str(properties), *words]


def jdbc_of(address: str) -> str:
    """Return a store's address as JDBC drivers want it; of no PostgreSQL, the address itself.

    PostgreSQL's driver takes the file of the password from the environment, PGPASSFILE.
    """
    found = urlsplit(address)
    if not found.scheme.startswith("postgres"):
        return address
    signed = (("user", found.username), ("password", found.password))
    others = (one for one in found.query.split("&") if not one.startswith("passfile="))
    query = [*(f"{name}={value}" for name, value in signed if value), *others]
    where = found.netloc.rpartition("@")[2]
    return f"jdbc:postgresql://{where}{found.path}?{'&'.join(filter(None, query))}"
