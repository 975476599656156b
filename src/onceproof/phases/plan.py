"""The plan phase: makes plan.json from scenario and seed, and the run's directory and name.

The plan has everything that a run needs: no later phase reads a scenario file. The same scenario
and seed give the same plan, except for names that contain the time.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from onceproof.errors import RequestError, out_of_range
from onceproof.faults.triggers import sentence
from onceproof.phases.new_run import make_directory, name_of, write_plan
from onceproof.phases.subject import Subject, find_subject, find_versions
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import InputPart, Plan, QueryPart, seed_for
from onceproof.scenario import Scenario
from onceproof.scenario.commands import fill
from onceproof.scenario.deciding import (
    deciding_files,
    digests_of,
    expectations_of,
)
from onceproof.scenario.model import FOLLOWED

UNNAMED = "{run}"  # a placeholder for the run's name


@dataclass(frozen=True)
class Origin:
    """The origin of a run: the night that it is part of, and the orchestrator's name for it."""

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
    """Write the plan of a new run to a new directory, and return the directory.

    The directory is `<runs>/<scenario>/<utc>-<seed>/`, made here exclusively, so that runs never
    share one. Only its owner may read it, unless it `is_open`. `subject` is the version of the job
    under test, for a job that is not in git.
    """
    _refuse_seed(seed)
    placeholders = {"here": scenario.folder}
    deciding = deciding_files(scenario)
    under_test = find_subject(scenario.job.command, placeholders, subject, deciding)
    plan = plan_of(scenario, seed, deciding, under_test, find_versions(), given=subject)
    run = make_directory(runs / scenario.name, seed, now, is_open=is_open)
    named = plan.named(name_of(scenario.name, seed, run.root))
    return write_plan(run, replace(named, night=origin.night, orchestrator=origin.orchestrator))


def plan_of(
    scenario: Scenario,
    seed: int,
    deciding: list[Path],
    subject: Subject,
    versions: Mapping[str, str],
    *,
    given: str = "",
) -> Plan:
    """Return the plan of a run without its name; `given` is the subject that the user gave."""
    claim, suites = scenario.claim, expectations_of(scenario)
    return Plan(
        scenario=scenario.name,
        run=UNNAMED,
        seed=seed,
        file=scenario.file,
        tags=scenario.tags,
        jobs=(replace(scenario.job, command=_command(scenario)),),
        inputs=tuple(_input(one, scenario, seed) for one in scenario.inputs),
        queries=tuple(_query(one) for one in scenario.queries),
        faults=tuple(replace(one, trigger=sentence(one.when)) for one in scenario.faults),
        lives=scenario.lives,
        restart=scenario.restart,
        limits=scenario.limits,
        ends=scenario.ends,
        last_words=scenario.last_words,
        unexplained=scenario.unexplained,
        hold_to=claim.promise.guarantee,
        claims=claim.verdict,
        anomalies=tuple(sorted(claim.anomalies)),
        expectations=suites,
        decided_by=digests_of(deciding, suites),
        subject=subject.text,
        subject_files=subject.files,
        subject_given=given,
        versions=versions,
        replay=_replay(scenario, seed, given),
    )


def _refuse_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise RequestError(out_of_range("seed", seed, f"0 to {2**32 - 1}"))


def _command(scenario: Scenario) -> tuple[str, ...]:
    """Return the command with the scenario's placeholders filled in, and those of runs kept."""
    return fill(scenario.job.command, {"here": scenario.folder, **scenario.job.options})


def _input(one: InputPart, scenario: Scenario, seed: int) -> InputPart:
    own = seed_for(seed, one.name) if len(scenario.inputs) > 1 else None
    planned = replace(one, topic=f"{UNNAMED}.{one.name}", seed=own)
    followed = (read for read in scenario.inputs if read.name == one.options.get("follows"))
    for read in followed:
        of = _input(read, scenario, seed)
        named = {"workload": of.workload, "options": dict(of.options), "seed": of.seed}
        return replace(planned, options={**one.options, FOLLOWED: json.dumps(named)})
    return planned


def _query(query: QueryPart) -> QueryPart:
    outputs = (replace(one, target=one.target or f"{UNNAMED}.{one.name}") for one in query.outputs)
    return replace(query, outputs=tuple(outputs))


def _replay(scenario: Scenario, seed: int, subject: str) -> str:
    words = ["onceproof", "run", scenario.address, "--seed", str(seed)]
    words += ["--random", str(scenario.drawn)] if scenario.drawn else []
    return shlex.join([*words, *(["--subject", subject] if subject else [])])
