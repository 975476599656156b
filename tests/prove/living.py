"""A run of a proof, lived on a stack that stands, and its verdict document."""

from __future__ import annotations

from pathlib import Path

import onceproof.api
from onceproof.scenario.model import Scenario


def live(scenario: Scenario, seed: int, runs: Path, home: Path) -> dict:
    return onceproof.api.run(scenario, seed=seed, runs=runs, stack=home, is_recorded=False).document


def live_fields(fields: dict, seed: int, folder: Path, home: Path) -> dict:
    """Live a scenario that is written only for this."""
    return live(Scenario.of(fields), seed, folder / "runs", home)


def differences(found: dict) -> str:
    """Return what a verdict document counted, by class."""
    counts = [f"{rows:,} {name}" for name, rows in found["differences"].items() if rows]
    return ", ".join(counts) or "none"
