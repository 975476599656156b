"""The folders that Onceproof reads and writes: its home, runs, jobs, scenarios, suites and DAGs.

The home holds what outlives a run: jars, Java archives and, by default, the stack.
"""

import os
from pathlib import Path

from onceproof.errors import RequestError, invalid

RUNS = "ONCEPROOF_RUNS"


def onceproof_home() -> Path:
    """Return `ONCEPROOF_HOME`, or the user's cache folder.

    For root the default is the machine's cache folder: PostgreSQL refuses to run as root, and
    other users usually cannot enter root's own cache.
    """
    found = _home().resolve()  # /proc shows a process's folders with links resolved
    if set(str(found)) & set(" \t\n:,"):  # a class path and Spark's options cannot carry these
        use = "a folder without blanks, colons and commas"
        raise RequestError(invalid("ONCEPROOF_HOME", str(found), use))
    return found


def _home() -> Path:
    if given := os.environ.get("ONCEPROOF_HOME"):
        return Path(given)
    if os.geteuid() == 0:
        return Path("/var/cache/onceproof")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onceproof"


def runs_folder(given: str | Path | None = None) -> Path:
    """Return the folder for runs: the given one, else `ONCEPROOF_RUNS`, else ./runs."""
    return Path(given or os.environ.get(RUNS) or "runs")


def jobs_folder() -> Path:
    """Return the folder of our own jobs: `spark_jobs/` of a clone, else the wheel's."""
    return _beside("spark_jobs", "jobs")


def catalogue_folder() -> Path:
    """Return the folder of our own scenarios: `scenarios/` of a clone, else the wheel's."""
    return _beside("scenarios", "catalogue")


def expectations_folder() -> Path:
    """Return the folder of our own suites: `expectations/` of a clone, else the wheel's."""
    return _beside("expectations", "suites")


def dags_folder() -> Path:
    """Return the folder of our DAGs: `dags/` of a clone, else the wheel's."""
    return _beside("dags", "dags")


def _beside(in_clone: str, in_wheel: str) -> Path:
    package = Path(__file__).parents[1]
    clone = package.parents[1]
    return clone / in_clone if (clone / "pyproject.toml").exists() else package / in_wheel
