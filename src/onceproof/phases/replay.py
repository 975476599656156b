"""The replay of a stored run: its plan as that of a new run with a new name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from onceproof.errors import EvidenceError, RequestError
from onceproof.phases.new_run import make_directory, name_of, write_plan
from onceproof.phases.subject import find_subject, find_versions
from onceproof.references.declared import reference_of
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan, QueryPart
from onceproof.scenario.commands import ENTRY
from onceproof.scenario.deciding import deciding_files, digests_of


def plan_replay(run: RunDirectory, runs: Path, now: datetime | None = None) -> RunDirectory:
    """Write the plan of a stored run to a new directory, without reading a scenario file.

    The names that contain the time differ. Subject and versions are the current ones, since these
    will run.
    """
    try:
        plan = Plan.read(run.plan)
    except EvidenceError as error:
        raise RequestError(f"cannot replay {run.root}: {error}") from None
    job = replace(plan.job, command=_without_reference(plan.job.command))
    deciding = deciding_files(plan)
    found = find_subject(job.command, {}, plan.subject_given, deciding)
    new = make_directory(runs / plan.scenario, plan.seed, now)
    named = plan.named(name_of(plan.scenario, plan.seed, new.root))
    changed = replace(
        named,
        night="",
        orchestrator="",
        jobs=(job,),
        queries=tuple(_as_now(one) for one in named.queries),
        subject=found.text,
        subject_files=found.files,
        decided_by=digests_of(deciding, plan.expectations),
        versions=find_versions(),
    )
    return write_plan(new, changed)


def _as_now(query: QueryPart) -> QueryPart:
    """Return a query whose outputs have the rows of the current references."""
    outputs = (replace(one, rows=reference_of(one).in_plan(one.writes)) for one in query.outputs)
    return replace(query, outputs=tuple(outputs))


def _without_reference(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command without `--reference`, an option of built-in jobs in older plans."""
    words = list(command)
    if ENTRY in words and "--reference" in words:
        at = words.index("--reference")
        del words[at : at + 2]
    return tuple(words)
