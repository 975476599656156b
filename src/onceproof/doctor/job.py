"""What the command of a job needs on this machine: its program, its files, its pyspark."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.job.needs import libraries_of, refuse_unset, variables_of
from onceproof.job.runtime import python_of, search_path
from onceproof.machine.home import jobs_folder
from onceproof.scenario import Scenario
from onceproof.scenario.commands import fill
from onceproof.setup.checks import Check
from onceproof.setup.jars import read_lock
from onceproof.setup.libraries import describe_missing, install_command, missing

_FILE = re.compile(r"[^{}:=,]+\.(py|jar|zip|egg|conf|properties|sql|yaml|yml)")
_PYTHON = re.compile(r"python[\d.]*")
_CONNECTOR = "spark-sql-kafka-0-10_2.13"
_JAR = re.compile(r"spark-sql-kafka-0-10_2\.1\d-(.+)\.jar")
_ANSWERS_WITHIN_S = 30
_ASK = "import pyspark; print(pyspark.__version__)"


def check_job(scenario: Scenario) -> list[Check]:
    """Look at what the scenario's command names, and at what it runs on."""
    runtime = scenario.job.runtime
    python = python_of(runtime)
    known = {"python": python, "jobs": str(jobs_folder()), "here": scenario.folder}
    program, *words = fill(scenario.job.command, known)
    found = shutil.which(program, path=search_path(runtime))
    if found is None:
        near = Path(scenario.folder, program)
        written = f"{{here}}/{program}" if near.is_file() else "its whole path, or {python}"
        remedy = f"the job is started in the run's directory: write {written}, and chmod +x"
        return [Check("command", False, f"{program} is no program", remedy), *_files(words)]
    interpreter = found if _PYTHON.fullmatch(Path(program).name) else python
    return [Check("command", True, found), *_files(words), *_interpreter(interpreter, runtime)]


def check_variables(scenario: Scenario) -> list[Check]:
    """Look whether the environment has what the scenario names as `${NAME}`."""
    names = variables_of(scenario)
    try:
        refuse_unset(scenario)
    except RequestError as error:
        return [Check("variables", False, f"of {', '.join(names)} not all are set", str(error))]
    return [Check("variables", True, ", ".join(names))] if names else []


def check_libraries(scenario: Scenario) -> Check:
    """Look whether the libraries that a run of it needs are installed."""
    needed = libraries_of(scenario)
    if absent := missing(needed):
        return Check(
            "libraries of the scenario", False, describe_missing(absent), install_command(absent)
        )
    said = ", ".join(f"{one.name} {one.version}" for one in needed)
    return Check("libraries of the scenario", True, said)


def _files(words: list[str]) -> list[Check]:
    names = [word for word in words if _FILE.fullmatch(word)]
    missing = [name for name in names if not (Path(name).is_absolute() and Path(name).is_file())]
    if not names:
        return []
    if missing:
        remedy = "the job is started in the run's directory: write {here}/ before what is beside"
        said = f"{', '.join(missing)}: no such file there"
        return [Check("files of the command", False, said, f"{remedy} the scenario's file")]
    return [Check("files of the command", True, ", ".join(names))]


def _interpreter(program: str, runtime: Mapping[str, Any]) -> Iterator[Check]:
    """Yield whether a Python has pyspark, and whether the connector is of that Spark."""
    version, said = _asked(program)
    if not version:
        remedy = f"install it there ({program} -m pip install pyspark), or name another interpreter"
        yield Check("pyspark of the job", False, f"none: {said}", remedy)
        return
    yield Check("pyspark of the job", True, f"{version} of {program}")
    if missing := [str(jar) for jar in runtime.get("jars", ()) if not Path(jar).is_file()]:
        remedy = "write the whole path of a file"
        yield Check("jars of the job", False, f"{missing[0]}: no such file", remedy)
        return
    connector = _connector(runtime)
    remedy = (
        f"a connector must be its Spark's own: install pyspark {connector} there, or write `jars`"
        f" with spark-sql-kafka-0-10 {version} and what it needs"
    )
    told = f"connector {connector}, pyspark {version}"
    yield Check("connector of the job", version == connector, told, remedy)


def _asked(program: str) -> tuple[str, str]:
    """Return the version of a Python's pyspark, and what it said if it has none."""
    try:
        done = subprocess.run(
            [program, "-c", _ASK],
            capture_output=True,
            text=True,
            check=False,
            timeout=_ANSWERS_WITHIN_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    return done.stdout.strip(), " ".join(done.stderr.strip().splitlines()[-1:])


def _connector(runtime: Mapping[str, Any]) -> str:
    """Return the version of the connector that the job finds: among its own jars, else ours."""
    if "jars" in runtime:
        found = map(_JAR.fullmatch, (Path(jar).name for jar in runtime["jars"]))
        return next((one[1] for one in found if one), "none")
    (ours,) = (one.coordinate for one in read_lock() if one.coordinate.artifact == _CONNECTOR)
    return ours.version
