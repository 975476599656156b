"""The plan of a stored run once more, as a new run with names of its own."""

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


def plan_again(run: RunDirectory, runs: Path, now: datetime | None = None) -> RunDirectory:
    """Write the plan of a run into a new directory; no scenario file is read.

    The names that hold the time differ; subject and versions are those of now, since that is what
    will run.
    """
    try:
        plan = Plan.read(run.plan)
    except EvidenceError as error:
        raise RequestError(f"{run.root} cannot be run again: {error}") from None
    job = replace(plan.job, command=_without_reference(plan.job.command))
    deciding = deciding_files(plan)
    found = find_subject(job.command, {}, plan.subject_given, deciding)
    again = make_directory(runs / plan.scenario, plan.seed, now)
    named = plan.named(name_of(plan.scenario, plan.seed, again.root))
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
    return write_plan(again, changed)


def _as_now(query: QueryPart) -> QueryPart:
    """Return a query whose outputs have the rows that their references give now."""
    outputs = (replace(one, rows=reference_of(one).in_plan(one.writes)) for one in query.outputs)
    return replace(query, outputs=tuple(outputs))


def _without_reference(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command without `--reference`, which our job took in older plans."""
    words = list(command)
    if ENTRY in words and "--reference" in words:
        at = words.index("--reference")
        del words[at : at + 2]
    return tuple(words)
