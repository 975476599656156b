"""The subject under test: the version of the job's code, and the versions of its runtime."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from onceproof.digests import files_digest
from onceproof.errors import RequestError
from onceproof.job.runtime import python_of, search_path
from onceproof.machine.home import jobs_folder
from onceproof.runs.plan import JobPart
from onceproof.scenario.commands import ENTRY, fill
from onceproof.setup.java import find_java

_PYTHON_FILE = re.compile(r"[^{}:=,]+\.py")
# A word of the command with such a name is a launcher, not code of the job.
_STARTS = re.compile(r"(?:python|pypy|java|spark-submit|spark-class|env|bash|sh)[0-9.]*")
_DIRTY = "+dirty"
_OURS = "onceproof"
_PACKAGE = Path(__file__).parents[1]
_PACKAGES = ("onceproof", "pyspark", "kafka-python", "confluent-kafka")


@dataclass(frozen=True)
class Subject:
    """The job's version, given or by the commits of its files' repositories, and the files' sha256.

    Uncommitted changes anywhere in a repository add `+dirty`, since a job may import any file.
    Without git the version is a digest of the files. For a built-in job, the code of onceproof
    counts as one more file.
    """

    text: str
    files: Mapping[str, str]


def find_subject(
    command: Sequence[str],
    placeholders: Mapping[str, Any],
    given: str = "",
    beside: Sequence[Path] = (),
) -> Subject:
    """Return the subject: its version is `given`, otherwise that by git of the command's files.

    `placeholders` are those besides {jobs} that have a value already. The files `beside` decide the
    expected output, so uncommitted changes in their repositories count too.
    """
    paths = _files(command, {"jobs": jobs_folder(), **placeholders})
    files = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
    of_the_job = {
        path: files[name] for name, path in paths.items() if not _STARTS.fullmatch(path.name)
    }
    if any(jobs_folder() in path.parents for path in paths.values()):
        files[_OURS] = of_the_job[_PACKAGE / "__init__.py"] = files_digest(
            _PACKAGE.rglob("*.py"), _PACKAGE
        )
    return Subject(given or _beside(_version(of_the_job), beside), files)


def _beside(version: str, files: Sequence[Path]) -> str:
    """Return the version, with `+dirty` if the repository of one of these files has changes."""
    is_dirty = any(_commit(path.resolve()).endswith(_DIRTY) for path in files)
    return version.removesuffix(_DIRTY) + _DIRTY if is_dirty else version


def refuse_absent(job: JobPart, folder: str) -> None:
    """Raise `RequestError` if the program or a Python file of a command does not exist."""
    python = python_of(job.runtime)
    program, *words = fill(job.command, {"jobs": jobs_folder(), "python": python, "here": folder})
    if shutil.which(program, path=search_path(job.runtime)) is None:
        raise RequestError(
            f"program {program!r} of the command does not exist or is not executable; use its"
            " absolute path, {python}, or {here}/ for a file beside the scenario's file"
        )
    for word in words:
        if _PYTHON_FILE.fullmatch(word) and not (Path(word).is_absolute() and _is_file(Path(word))):
            raise RequestError(
                f"file {word!r} of the command does not exist in the run's directory, where the job"
                " is started; use {here}/ for a file beside the scenario's file"
            )


def find_versions() -> dict[str, str]:
    """Return the versions of the packages and the Java that a run needs, if installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    try:
        return found | {"java": find_java().text.splitlines()[0]}
    except RequestError:  # doctor reports it
        return found


def _files(command: Sequence[str], placeholders: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files that a command names, and the job that stream.py loads by its name."""
    words = list(command)
    if ENTRY in words:
        words.append(f"{{jobs}}/{words[words.index(ENTRY) + 1]}.py")
    paths = {word: Path(fill([word], placeholders)[0]) for word in words}
    # the job is started in the run's directory, so relative paths name no file yet
    return {word: path for word, path in paths.items() if path.is_absolute() and _is_file(path)}


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the word is too long for a path
        return False


def _version(digests: Mapping[Path, str]) -> str:
    """Return the version of files: their commits, and a digest of those that are not in git.

    If one of them is in git, a Python file outside git makes the version dirty, as its imports are
    unknown.
    """
    commits = {path: _commit(path.resolve()) for path in digests}
    others = {path: digest for path, digest in digests.items() if not commits[path]}
    if len(others) == len(digests):
        return _of_files(digests)
    found = dict.fromkeys(commit.removesuffix(_DIRTY) for commit in commits.values() if commit)
    whole = {path: digest for path, digest in others.items() if path.suffix != ".py"}
    parts = [*found, *([_of_files(whole)] if whole else [])]
    is_dirty = len(whole) < len(others) or any(one.endswith(_DIRTY) for one in commits.values())
    return "+".join(parts) + (_DIRTY if is_dirty else "")


def _commit(path: Path) -> str:
    """Return the commit of a file's repository; empty if the file is not in git."""
    folder = path.parent
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    if commit is None or _git(folder, "check-ignore", "--", ".", path.name) is not None:
        return ""
    # without a path it covers the whole repository
    changes = _git(folder, "status", "--porcelain", "--untracked-files=normal")
    return f"git:{commit}{'' if changes == '' else _DIRTY}"


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of git, which takes no locks; None if it fails or is not installed."""
    env = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, env=env, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _of_files(digests: Mapping[Path, str]) -> str:
    """Return a digest of names and contents that does not depend on the folder."""
    lines = "".join(sorted(f"{digest} {path.name}\n" for path, digest in digests.items()))
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()[:12]}" if digests else "unknown"
