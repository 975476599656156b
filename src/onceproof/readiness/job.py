"""What the command of a job needs on this machine: its program, its files, its pyspark."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from onceproof.home import jobs_folder
from onceproof.scenario import Scenario
from onceproof.scenario.commands import fill
from onceproof.setup.checks import Check
from onceproof.setup.jars import read_lock

_FILE = re.compile(r"[^{}:=,]+\.(py|jar|zip|egg|conf|properties|sql|yaml|yml)")
_PYTHON = re.compile(r"python[\d.]*")
_CONNECTOR = "spark-sql-kafka-0-10_2.13"
_ANSWERS_WITHIN_S = 30
_ASK = "import pyspark; print(pyspark.__version__)"


def check_job(scenario: Scenario) -> list[Check]:
    """Look at what the scenario's command names."""
    known = {"python": sys.executable, "jobs": str(jobs_folder()), "here": scenario.folder}
    program, *words = fill(scenario.pipeline.command, known)
    found = shutil.which(program)
    if found is None:
        near = Path(scenario.folder, program)
        written = f"{{here}}/{program}" if near.is_file() else "its whole path, or {python}"
        remedy = f"the job is started in the run's directory: write {written}, and chmod +x"
        return [Check("command", False, f"{program} is no program", remedy), *_files(words)]
    interpreter = [*_interpreter(found)] if _PYTHON.fullmatch(Path(program).name) else []
    return [Check("command", True, found), *_files(words), *interpreter]


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


def _interpreter(program: str) -> Iterator[Check]:
    """Yield whether a Python has pyspark, and whether the connector of that Spark is ours."""
    try:
        done = subprocess.run(
            [program, "-c", _ASK],
            capture_output=True,
            text=True,
            check=False,
            timeout=_ANSWERS_WITHIN_S,
        )
        version, said = done.stdout.strip(), done.stderr.strip().splitlines()[-1:]
    except (OSError, subprocess.TimeoutExpired) as error:
        version, said = "", [str(error)]
    if not version:
        remedy = f"install it there ({program} -m pip install pyspark), or name another interpreter"
        yield Check("pyspark of the job", False, f"none: {' '.join(said)}", remedy)
        return
    yield Check("pyspark of the job", True, f"{version} of {program}")
    (ours,) = (one.coordinate for one in read_lock() if one.coordinate.artifact == _CONNECTOR)
    remedy = (
        f"the jars that a job finds are those of Spark {ours.version}, and a connector must be its"
        f" Spark's own: install pyspark {ours.version} there"
    )
    told = f"connector {ours.version}, pyspark {version}"
    yield Check("connector of the job", version == ours.version, told, remedy)
