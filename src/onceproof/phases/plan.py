"""The plan phase: scenario and seed become plan.json, and the run gets its directory and its name.

All that a run needs is in the plan: no later phase reads a scenario file. The same scenario and
seed give the same plan, but for the names that hold the time.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.faults.triggers import sentence
from onceproof.phases.new_run import make_directory, name_of, write_plan
from onceproof.phases.subject import Subject, find_subject, find_versions
from onceproof.references.declared import reference_of
from onceproof.run.directory import RunDirectory
from onceproof.run.plan import Writes
from onceproof.run.work import ALLOWED
from onceproof.scenario import Scenario
from onceproof.scenario.commands import fill
from onceproof.scenario.deciding import (
    deciding_files,
    digests_of,
    expectations_of,
)
from onceproof.sinks.outputs import is_output

SCHEMA = 1


@dataclass(frozen=True)
class Origin:
    """Where a run comes from: the night it is part of, and the orchestrator's own name for it."""

    night: str = ""
    orchestrator: str = ""


def make_plan(
    scenario: Scenario,
    seed: int,
    runs: Path,
    *,
    subject: str = "",
    origin: Origin = Origin(),
    now: datetime | None = None,
    is_open: bool = False,
) -> RunDirectory:
    """Write the plan of a new run into a directory of its own, and return that.

    The directory is `<runs>/<scenario>/<utc>-<seed>/`; it is made here and nowhere else, so no two
    runs share one. `subject` is the version of the job under test, where git cannot tell it. Only
    the owner may read it, unless it `is_open`.
    """
    _refuse_seed(seed)
    known = {"here": scenario.folder}
    beside = deciding_files(scenario)
    found = find_subject(scenario.pipeline.command, known, subject, beside), find_versions()
    plan_document(scenario, seed, "nothing", *found)  # what cannot be planned leaves no directory
    run = make_directory(runs / scenario.name, seed, now, is_open=is_open)
    name = name_of(scenario.name, seed, run.root)
    document = plan_document(scenario, seed, name, *found, given=subject)
    return write_plan(run, document | asdict(origin))


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
        "reference": reference_of(scenario.pipeline).in_plan(scenario.sink.kind.writes),
        "workload": _workload(scenario, run),
        "source_options": dict(scenario.source_options),
        "sink": _sink(scenario, run),
        "faults": _faults(scenario),
        **_deciding(scenario),
        "restart": dict(scenario.restart),
        "limits": {"run_s": int(scenario.limits.run_s), "stall_s": int(scenario.limits.stall_s)},
        **_ending(scenario),
        "hold_to": claim.promise.guarantee,
        "claims": claim.verdict,
        "anomalies": sorted(claim.anomalies),
        "subject": subject.text,
        "subject_files": dict(subject.files),
        "subject_given": given,
        "versions": dict(versions),
        "replay": _replay(scenario, seed, given),
    }


def _refuse_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise RequestError(f"seed {seed} is out of range: take 0 to {2**32 - 1}")


def _pipeline(scenario: Scenario) -> dict[str, Any]:
    """Return the job; what only a run knows stays a placeholder."""
    pipeline = scenario.pipeline
    return {
        "name": pipeline.name,
        "command": list(fill(pipeline.command, {"here": scenario.folder, **pipeline.options})),
        "reference": pipeline.reference,
        "options": dict(pipeline.options),
        "starting": pipeline.starting,
        "output": dict(pipeline.output),
        "runtime": dict(pipeline.runtime),
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
    version = reference_of(scenario.pipeline).version
    options = scenario.sink.options
    return {
        "name": scenario.sink.name,
        "target": options.get(kind.place.called if is_output(kind) else "", f"{run}.output"),
        "options": dict(options),
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
            "how": dict(fault.how),
            "trigger": sentence(fault.when),
            **({"effect": fault.effect} if fault.effect else {}),
        }
        for fault in scenario.faults
    ]


def _ending(scenario: Scenario) -> dict[str, Any]:
    """Return how the job must end, and what may fail on the way; defaults are left out."""
    return {
        "ends": scenario.ends,
        **({"last_words": scenario.last_words} if scenario.last_words else {}),
        **({"unexplained": ALLOWED} if scenario.unexplained == ALLOWED else {}),
    }


def _deciding(scenario: Scenario) -> dict[str, Any]:
    suites = expectations_of(scenario)
    return {"expectations": suites, "decided_by": digests_of(deciding_files(scenario), suites)}


def _replay(scenario: Scenario, seed: int, subject: str) -> str:
    words = ["onceproof", "run", scenario.address, "--seed", str(seed)]
    words += ["--random", str(scenario.drawn)] if scenario.drawn else []
    return shlex.join([*words, *(["--subject", subject] if subject else [])])
