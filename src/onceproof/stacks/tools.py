"""The programs, class paths and Java archives that members are started from."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.errors import StackError

_LIMIT_S = 300


@dataclass(frozen=True)
class KafkaTools:
    """The parts of a broker's command line."""

    java: Path
    class_path: tuple[Path, ...]
    bootstrap: Path
    archive: Path | None
    is_quick: bool


@dataclass(frozen=True)
class SparkTools:
    """The parts of a Spark JVM's command line."""

    java: Path
    home: Path
    jars: tuple[Path, ...]
    archive: Path | None
    is_quick: bool


@dataclass(frozen=True)
class StoreTools:
    """PostgreSQL's programs, a data folder to copy, and the user that it runs as."""

    programs: Path
    data: Path
    run_as: dict[str, Any]


def run_tool(command: Sequence[object], env: Mapping[str, str], what: str, **user: Any) -> None:
    """Run a program to its end; raise `StackError` with its last output lines if it fails."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=env,
            timeout=_LIMIT_S,
            **user,
        )
    except subprocess.TimeoutExpired:
        raise StackError(f"{what} did not finish within {_LIMIT_S} s") from None
    if done.returncode:
        tail = " / ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise StackError(f"{what} exited with {done.returncode}: {tail}")
