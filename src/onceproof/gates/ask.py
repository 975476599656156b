"""The question to a gate: a policy's file, the history of a folder of runs, and the time."""

from __future__ import annotations

import importlib.resources
from datetime import UTC, datetime
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.gates.decide import Decision, decide
from onceproof.gates.policy import read_policy
from onceproof.gates.verification import other_of, trouble_of
from onceproof.past.record import find_store


def example_policy() -> str:
    """Return the text of a policy for the catalogue, with a comment on each field."""
    place = importlib.resources.files("onceproof.gates").joinpath("example.yaml")
    return place.read_text(encoding="utf-8")


def ask(policy: Path, version: str, runs: Path) -> Decision:
    """Return whether the verdict history proves what a policy asks of a version, and why."""
    if not version.strip():
        raise RequestError("--version is empty; write the version that the runs have")
    demanded = read_policy(policy)
    store = find_store(runs)
    entries, issues = (store.entries(), store.issues()) if store else ((), ())
    return decide(demanded, version, entries, issues, datetime.now(UTC), trouble_of, other_of)
