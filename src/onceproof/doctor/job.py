"""Checks of a job's command on this machine: its program, its files, its pyspark."""

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
from onceproof.scenario.suites import OwnSuite
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
    """Check the program, files and interpreter of the scenario's command."""
    runtime = scenario.job.runtime
    python = python_of(runtime)
    names = {"python": python, "jobs": str(jobs_folder()), "here": scenario.folder}
    program, *words = fill(scenario.job.command, names)
    found = shutil.which(program, path=search_path(runtime))
    if found is None:
        near = Path(scenario.folder, program)
        path = f"{{here}}/{program}" if near.is_file() else "its absolute path, or {python}"
        remedy = f"write {path}, and chmod +x; the job starts in the run's directory"
        return [Check("command", False, f"{program} is not a program", remedy), *_files(words)]
    interpreter = found if _PYTHON.fullmatch(Path(program).name) else python
    return [Check("command", True, found), *_files(words), *_interpreter(interpreter, runtime)]


def check_variables(scenario: Scenario) -> list[Check]:
    """Check that the environment variables named as `${NAME}` in the scenario are set."""
    names = variables_of(scenario)
    try:
        refuse_unset(scenario)
    except RequestError as error:
        return [Check("variables", False, f"not all of {', '.join(names)} are set", str(error))]
    return [Check("variables", True, ", ".join(names))] if names else []


def check_suites(scenario: Scenario) -> list[Check]:
    """Check that the scenario's own suites can be read or built; their functions are called."""
    return [_suite(one) for one in scenario.expectations]


def _suite(one: OwnSuite) -> Check:
    try:
        found = one.read()
    except RequestError as error:
        return Check("suite", False, f"{one.display} cannot be built", str(error))
    return Check("suite", True, f"{found['name']}, {len(found['expectations'])} expectations")


def check_libraries(scenario: Scenario) -> Check:
    """Check that the libraries for a run of the scenario are installed."""
    needed = libraries_of(scenario)
    if absent := missing(needed):
        return Check(
            "libraries of the scenario", False, describe_missing(absent), install_command(absent)
        )
    versions = ", ".join(f"{one.name} {one.version}" for one in needed)
    return Check("libraries of the scenario", True, versions)


def _files(words: list[str]) -> list[Check]:
    names = [word for word in words if _FILE.fullmatch(word)]
    absent = [name for name in names if not (Path(name).is_absolute() and Path(name).is_file())]
    if not names:
        return []
    if absent:
        remedy = "write {here}/ before files in the scenario's folder; the job starts in the run's"
        value = f"{', '.join(absent)}: no such file"
        return [Check("files of the command", False, value, f"{remedy} directory")]
    return [Check("files of the command", True, ", ".join(names))]


def _interpreter(program: str, runtime: Mapping[str, Any]) -> Iterator[Check]:
    """Yield checks that a Python has pyspark, and that the connector is of the same release."""
    version, error = _pyspark_version(program)
    if not version:
        remedy = f"run {program} -m pip install pyspark, or use another interpreter"
        yield Check("pyspark of the job", False, f"none: {error}", remedy)
        return
    yield Check("pyspark of the job", True, f"{version} of {program}")
    if absent := [str(jar) for jar in runtime.get("jars", ()) if not Path(jar).is_file()]:
        remedy = "write the absolute path of a file"
        yield Check("jars of the job", False, f"{absent[0]}: no such file", remedy)
        return
    connector = _connector(runtime)
    remedy = (
        f"install pyspark {connector} there, or write `jars` with spark-sql-kafka-0-10 {version}"
        " and its dependencies: the connector and Spark must be of the same release"
    )
    value = f"connector {connector}, pyspark {version}"
    yield Check("connector of the job", version == connector, value, remedy)


def _pyspark_version(program: str) -> tuple[str, str]:
    """Return the version of a Python's pyspark, and the last line of its errors."""
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
    if "jars" in runtime:
        found = map(_JAR.fullmatch, (Path(jar).name for jar in runtime["jars"]))
        return next((one[1] for one in found if one), "none")
    (ours,) = (one.coordinate for one in read_lock() if one.coordinate.artifact == _CONNECTOR)
    return ours.version
