"""A run of a proof, lived on a stack that stands, and its verdict document."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from onceproof.phases.plan import make_plan
from onceproof.phases.whole_run import live_run
from onceproof.scenario.catalogue import find_scenario
from onceproof.scenario.model import Scenario


def live(scenario: Scenario, seed: int, runs: Path, home: Path) -> dict:
    run = make_plan(scenario, seed, runs)
    live_run(run, home)
    return json.loads(run.verdict.read_text())


def live_fields(fields: dict, seed: int, folder: Path, home: Path) -> dict:
    """Live a scenario that is written only for this; its file stays in the folder."""
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(fields))
    return live(find_scenario(str(file)), seed, folder / "runs", home)


def differences(found: dict) -> str:
    """Return what a verdict document counted, by class."""
    counts = [f"{rows:,} {name}" for name, rows in found["differences"].items() if rows]
    return ", ".join(counts) or "none"
