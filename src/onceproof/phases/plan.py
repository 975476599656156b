"""The plan phase: scenario and seed become plan.json, and the run gets its directory and its name.

All that a run needs is in the plan: no later phase reads a scenario file. The same scenario and
seed give the same plan, but for the names that hold the time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.faults.triggers import sentence
from onceproof.phases.subject import Subject, find_subject, find_versions
from onceproof.plan import Writes
from onceproof.references import find_reference
from onceproof.run import RunDirectory
from onceproof.scenario import Scenario
from onceproof.scenario.commands import fill

SCHEMA = 1
_LONGEST_ID = 60  # a schema of PostgreSQL may have 63
_TRIES = 100


def make_plan(
    scenario: Scenario,
    seed: int,
    runs: Path,
    *,
    subject: str = "",
    now: datetime | None = None,
) -> RunDirectory:
    """Write the plan of a new run into a directory of its own, and return that.

    The directory is `<runs>/<scenario>/<utc>-<seed>/`; it is made here and nowhere else, so no two
    runs share one. `subject` is the version of the job under test, where git cannot tell it.
    """
    found, versions = find_subject(scenario, subject), find_versions()
    at = (now or datetime.now(UTC)).astimezone(UTC)
    refuse_seed(seed)
    run = make_directory(runs / scenario.name, f"{at:%Y%m%dT%H%M%S}", seed)
    name = name_of(scenario.name, seed, run.root)
    document = plan_document(scenario, seed, name, found, versions, given=subject)
    part = run.plan.with_suffix(".part")
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    os.replace(part, run.plan)
    return run


def plan_document(
    scenario: Scenario,
    seed: int,
    run: str,
    subject: Subject,
    versions: Mapping[str, str],
    *,
    given: str = "",
) -> dict[str, Any]:
    """Return the plan of a run by this name; nothing but the reference is looked up.

    `given` is the subject as somebody gave it, for the replay.
    """
    claim = scenario.claim
    return {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "run": run,
        "seed": seed,
        "file": scenario.file,
        "tags": list(scenario.tags),
        "pipeline": _pipeline(scenario),
        "workload": _workload(scenario, run),
        "sink": _sink(scenario, run),
        "faults": _faults(scenario),
        "restart": dict(scenario.restart),
        "limits": {"run_s": int(scenario.limits.run_s), "stall_s": int(scenario.limits.stall_s)},
        "hold_to": claim.promise.guarantee,
        "claims": claim.verdict,
        "anomalies": sorted(claim.anomalies),
        "subject": subject.text,
        "subject_files": dict(subject.files),
        "versions": dict(versions),
        "replay": _replay(scenario, seed, given),
    }


def name_of(scenario: str, seed: int, root: Path) -> str:
    """Return the name of a run's topics, tables and processes: scenario, time, seed, and a digest.

    The digest is of the directory, which is made once, so that two runs of one second differ.
    """
    time = root.name.partition("-")[0].lower()
    digest = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:6]
    tail = f"_{time}_{seed}_{digest}"
    head = re.sub("_+", "_", scenario)[: _LONGEST_ID - len(tail)]
    return head.rstrip("_") + tail


def refuse_seed(seed: int) -> None:
    """Raise `RequestError` for a seed that no name can carry."""
    if not 0 <= seed < 2**32:
        raise RequestError(f"seed {seed} is out of range: take 0 to {2**32 - 1}")


def make_directory(folder: Path, time: str, seed: int) -> RunDirectory:
    """Make a directory that was not there; runs of one seed in one second are numbered."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, _TRIES):
        root = folder / (f"{time}-{seed}" if number == 1 else f"{time}-{seed}-{number}")
        try:
            root.mkdir()
        except FileExistsError:
            continue
        return RunDirectory(root)
    raise RequestError(f"{folder} has {_TRIES} runs of seed {seed} of one second: wait")


def _pipeline(scenario: Scenario) -> dict[str, Any]:
    """Return the job; what only a run knows stays a placeholder."""
    pipeline = scenario.pipeline
    return {
        "name": pipeline.name,
        "command": list(fill(pipeline.command, {"here": scenario.folder, **pipeline.options})),
        "reference": pipeline.reference,
        "options": dict(pipeline.options),
    }


def _workload(scenario: Scenario, run: str) -> dict[str, Any]:
    workload = scenario.workload
    return {
        "name": workload.name,
        "topic": f"{run}.events",
        "partitions": workload.partitions,
        "options": dict(workload.options),
    }


def _sink(scenario: Scenario, run: str) -> dict[str, Any]:
    """Return the sink with its traits; `versioned` where rows of a key replace each other."""
    kind = scenario.sink.kind
    version = find_reference(scenario.pipeline.reference).version
    return {
        "name": scenario.sink.name,
        "target": f"{run}.output",
        "options": dict(scenario.sink.options),
        "family": kind.family,
        "store": kind.store,
        "guarantee": kind.guarantee,
        "atomic_batches": kind.atomic_batches,
        "ordered": kind.ordered,
        "versioned": kind.writes is Writes.UPSERT and version is not None,
        "writes": kind.writes,
    }


def _faults(scenario: Scenario) -> list[dict[str, Any]]:
    return [
        {
            "name": fault.name,
            "verb": fault.verb,
            "target": fault.target,
            "when": dict(fault.when),
            "trigger": sentence(fault.when),
        }
        for fault in scenario.faults
    ]


def _replay(scenario: Scenario, seed: int, subject: str) -> str:
    words = ["onceproof", "run", scenario.address, "--seed", str(seed)]
    return shlex.join([*words, *(["--subject", subject] if subject else [])])
