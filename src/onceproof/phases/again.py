"""The plan of a stored run once more, as a new run with names of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from onceproof.documents import read_object
from onceproof.errors import EvidenceError, RequestError
from onceproof.phases.new_run import make_directory, name_of, write_plan
from onceproof.phases.subject import find_subject, find_versions
from onceproof.references.declared import reference_of
from onceproof.run.directory import RunDirectory
from onceproof.run.plan import Plan
from onceproof.run.work import Work
from onceproof.scenario.commands import ENTRY
from onceproof.scenario.deciding import deciding_files, digests_of


def plan_again(run: RunDirectory, runs: Path, now: datetime | None = None) -> RunDirectory:
    """Write the plan of a run into a new directory; no scenario file is read.

    The names that hold the time differ; subject and versions are those of now, since that is what
    will run.
    """
    try:
        plan = read_object(run.plan)
        work, writes = Work.of(plan), Plan.read(run.plan).writes
    except EvidenceError as error:
        raise RequestError(f"{run.root} cannot be run again: {error}") from None
    command, deciding = _without_reference(work.pipeline.command), deciding_files(work)
    found = find_subject(command, {}, plan.get("subject_given", ""), deciding)
    again = make_directory(runs / work.scenario, work.seed, now)
    name = name_of(work.scenario, work.seed, again.root)
    changed = {
        "run": name,
        "night": "",
        "orchestrator": "",
        "pipeline": plan["pipeline"] | {"command": command},
        "reference": reference_of(work.pipeline).in_plan(writes),
        "workload": plan["workload"] | {"topic": f"{name}.events"},
        "sink": plan["sink"] | {"target": work.sink.target.replace(work.run, name)},
        "subject": found.text,
        "subject_files": dict(found.files),
        "decided_by": digests_of(deciding, work.expectations),
        "versions": find_versions(),
    }
    return write_plan(again, plan | changed)


def _without_reference(command: Sequence[str]) -> list[str]:
    """Return a command without `--reference`, which our job took in older plans."""
    words = list(command)
    if ENTRY in words and "--reference" in words:
        at = words.index("--reference")
        del words[at : at + 2]
    return words
