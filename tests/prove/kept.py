"""Results of runs of the same commit, kept so that a long proof can be run in parts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from onceproof.machine.home import onceproof_home
from tests.prove.version import commit


def asked(variable: str, known: Iterable[str]) -> list[str]:
    """Those that a variable of the environment names, with commas between them, or else all."""
    return os.environ[variable].split(",") if os.environ.get(variable) else list(known)


class Kept:
    """What became of the runs of one proof, by a key of each; a later one replaces an earlier."""

    def __init__(self, name: str) -> None:
        self._path: Path = onceproof_home() / f"prove-{name}-{commit()}.jsonl"

    def add(self, key: str, found: dict) -> None:
        with self._path.open("a") as file:
            file.write(f"{json.dumps([key, found])}\n")

    def all(self) -> list[dict]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return list(dict(map(json.loads, lines)).values())
