"""The warm-up of the reference's Spark: a trial with a sample of the input, while the job runs.

It compiles the plans that the recompute phase needs, which takes longer than their execution. The
trial is no evidence: it has its own directory, which is removed.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from onceproof.phases.recompute import recompute_in
from onceproof.producing.rows import Sends
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import InputPart, Plan
from onceproof.workloads import find_workload

_ROWS = 500


def warm_up(spark: Any, run: RunDirectory, plan: Plan, folder: Path) -> None:
    """Recompute a sample in a new session; an exception is printed and ignored.

    The sample is the beginning of the workload, with the batches committed so far.
    """
    try:
        trial = RunDirectory(folder)
        _prepare(trial, run, plan)
        recompute_in(spark.newSession(), trial, plan)
    except Exception as error:  # the phase itself will raise it
        print(f"the warm-up failed: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(trial: RunDirectory, run: RunDirectory, plan: Plan) -> None:
    halves = shutil.ignore_patterns("*.part")
    shutil.copytree(run.checkpoint_log, trial.checkpoint_log, ignore=halves)
    for path, of_run in ((trial.checkpoint, run.checkpoint), (trial.calm.root, run.calm.root)):
        path.symlink_to(of_run.absolute())
    trial.ledger.mkdir()
    for number, read in enumerate(plan.inputs):
        _write_sample(plan, read, trial.ledger / f"part-{number:03d}.parquet")


def _write_sample(plan: Plan, read: InputPart, path: Path) -> None:
    """Write the first events of a workload as an acknowledged ledger."""
    workload = find_workload(read.workload)
    events = next(iter(workload.events(workload.resolve(read.options), plan.seed_of(read), 0)))
    sends = Sends(events.slice(0, _ROWS), plan.run, read.topic, read.partitions)
    ends: Counter[int] = Counter()
    for place, (partition, *_) in enumerate(sends.rows(0, len(sends))):
        sends.acknowledge(place, ends[partition])
        ends[partition] += 1
    sends.write(path)
