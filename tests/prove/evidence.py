"""Every single mutation of the evidence of real runs: the judge must notice each of them.

One small run of each sink family is made, or `RUNS=folder` names runs that are there. A mutant
that is judged as its original survives; those that may are in `evidence_may_survive.yaml`, each
with its reason, and any other is red. `MUTATION=words` takes the mutations alone whose name
contains them.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from random import Random

import yaml

from onceproof.judging.checkers import run_checkers
from onceproof.judging.document import parts
from onceproof.machine.home import onceproof_home
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence, or_none
from onceproof.scenario.catalogue import find_scenario
from onceproof.scenario.model import Scenario
from onceproof.stacks.local.stack import LocalStack
from onceproof.verdict import Verdict
from tests.prove.living import live
from tests.prove.mutations import Changes, Mutation, mutations

SEED = 7
MAY_SURVIVE = Path(__file__).with_name("evidence_may_survive.yaml")
FAMILIES = (
    "append_table",
    "upsert_table",
    "wal_table",
    "two_phase_table",
    "two_phase_topic",
    "two_phase_files",
    "batch_folder",
    "append_topic",
)
_A_TASK, _OF_A_LABEL = 100, 2
Judged = tuple[str, bool]
Task = tuple[Path, Path | None, int, list[int]]


@dataclass(frozen=True)
class Result:
    """A mutation by its label and name, and whether it was judged as its original."""

    run: str
    label: str
    name: str
    survived: bool


def prove() -> str:
    """Return the table of what was caught; exit with the survivors if there are others."""
    if os.environ.get("RUNS"):
        return report(judge_all(found_in(Path(os.environ["RUNS"])), SEED))
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "prove-evidence"
    with tempfile.TemporaryDirectory() as folder:
        with LocalStack.up(home):
            for sink in FAMILIES:
                live(small(sink), SEED, Path(folder), home)
        return report(judge_all(found_in(Path(folder)), SEED))


def small(sink: str) -> Scenario:
    """Return the scenario of the catalogue that kills this sink's driver, with fewer events."""
    found = find_scenario(f"copy_events__{sink}__kill_driver")
    words = (one.replace("max_offsets=2000", "max_offsets=300") for one in found.job.command)
    read = replace(found.input, options={**found.input.options, "events": 2400})
    return replace(found, jobs=(replace(found.job, command=tuple(words)),), inputs=(read,))


def found_in(folder: Path) -> list[Path]:
    """Return the runs below a folder that have evidence."""
    found = sorted(path.parent for path in folder.rglob("history.jsonl"))
    return [run for run in found if (run / "plan.json").exists() and run.name != "calm"]


def report(results: Sequence[Result]) -> str:
    """Return the table of the results, or exit with the survivors that may not survive."""
    lines = ["| run | mutations | caught | may survive |", "|---|---|---|---|"]
    for run in dict.fromkeys(one.run for one in results):
        mine = [one for one in results if one.run == run]
        lived = sum(one.survived for one in mine)
        lines.append(f"| `{run}` | {len(mine):,} | {len(mine) - lived:,} | {lived:,} |")
    if red := unexplained(results):
        sys.stderr.write("\n".join([*lines, ""]))
        sys.exit("\n".join([f"{len(red)} mutations survived:", *map(str, red)]))
    return "\n".join(lines)


def unexplained(results: Sequence[Result]) -> list[str]:
    """Return the survivors that no pattern of the list allows, with how to repeat each."""
    return [
        f"{one.run}: {one.name}" for one in results if one.survived and not may_survive(one.label)
    ]


def may_survive(label: str) -> bool:
    """Whether a pattern of the list allows a mutation to survive."""
    return any(fnmatch.fnmatchcase(label, pattern) for pattern in allowed())


@cache
def allowed() -> tuple[str, ...]:
    listed = yaml.safe_load(MAY_SURVIVE.read_text())
    return tuple(pattern for one in listed for pattern in one["mutations"])


def judge_all(runs: Sequence[Path], seed: int, drawn: int = 0) -> list[Result]:
    """Judge every mutation of the runs, or so many drawn by the seed, on all cores."""
    wanted = os.environ.get("MUTATION", "")
    tasks: list[Task] = []
    for run, other in zip(runs, [*runs[1:], *runs[:1]], strict=True):
        theirs = None if other == run else other
        every = list(mutations(run, theirs, Random(seed)))
        places = [at for at, one in enumerate(every) if wanted in one.name]
        if not wanted:
            places = some_of_each_label(every, Random(seed))
        if drawn:
            places = sorted(Random(seed).sample(places, min(drawn, len(places))))
        steps = range(0, len(places), _A_TASK)
        tasks += [(run, theirs, seed, places[at : at + _A_TASK]) for at in steps]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return [one for some in pool.map(judge_some, tasks) for one in some]


def some_of_each_label(every: Sequence[Mutation], rng: Random) -> list[int]:
    """Return the places of at most so many mutations of a label, for what a run has often."""
    by_label: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(every):
        by_label[one.label].append(at)
    drawn = (rng.sample(some, min(_OF_A_LABEL, len(some))) for some in by_label.values())
    return sorted(chain.from_iterable(drawn))


def judge_some(task: Task) -> list[Result]:
    """Judge some mutations of one run, in a copy of it."""
    run, other, seed, places = task
    every = list(mutations(run, other, Random(seed)))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(run, copy)
        before = judged(copy)
        return [result(run, copy, every[at], before) for at in places]


def result(run: Path, copy: Path, mutation: Mutation, before: Judged) -> Result:
    with changed(run, copy, mutation.make()):
        survived = judged(copy) == before
    return Result(f"{run.parent.name}/{run.name}", mutation.label, mutation.name, survived)


@contextmanager
def changed(run: Path, copy: Path, changes: Changes) -> Iterator[None]:
    """Have the changes in the copy of a run, and take them back."""
    for name, content in changes.items():
        (copy / name).unlink(missing_ok=True)
        if content is not None:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes(content)
    try:
        yield
    finally:
        for name in changes:
            (copy / name).unlink(missing_ok=True)
            if (run / name).exists():
                shutil.copyfile(run / name, copy / name)


def judged(folder: Path) -> Judged:
    """Return the grade of a run and whether it is as claimed, as `judge` finds them."""
    evidence = Evidence(RunDirectory(folder))
    findings = run_checkers(evidence)
    _, troubles = parts(evidence)
    plan = or_none(lambda: evidence.plan)
    verdict = Verdict((*findings, *troubles), plan.claim if plan else None)
    return str(verdict.grade), verdict.as_claimed
