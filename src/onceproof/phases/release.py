"""The phase that removes a run's resources after any outcome, found by its plan."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

from onceproof.faults.small_disks import unmount_disks
from onceproof.job.handle import end_agent
from onceproof.job.targets import open_sinks
from onceproof.kafka.topics import drop_topic
from onceproof.phases.detached import end_all_detached
from onceproof.phases.new_run import seal
from onceproof.phases.prepare import own_stack
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.stacks.links.verbs import heal as heal_links
from onceproof.stacks.local.taking_down import take_down
from onceproof.stacks.opening import find_stack


def release(run: RunDirectory, plan: Plan) -> None:
    """End every process of the run, heal its stack, and remove topic and table; may be repeated.

    Concurrent calls wait for each other: an agent whose owner has ended starts a release too.
    """
    with (run.root / "release.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _release(run, plan)


def _release(run: RunDirectory, plan: Plan) -> None:
    end_all_detached(run)
    end_agent(run)
    if run.calm.plan.exists() and not run.calm.released.exists():
        release(run.calm, Plan.read(run.calm.plan))
    unmount_disks(run)
    for folder in (run.private, run.spark_local, run.spark_recompute, run.output):
        shutil.rmtree(folder, ignore_errors=True)
    prepared = Prepared.read(run.prepared) if run.prepared.exists() else None
    if prepared is None or prepared.own:
        _take_down(run, own_stack(plan))
    elif (found := find_stack(prepared.stack)) is not None:
        heal_links(found)  # a member behind a cut link is not healthy
        found.heal()
        for topic in plan.topics:
            drop_topic(prepared.brokers, topic)
        for _, sink in open_sinks(run, plan, prepared):
            sink.drop()
    run.released.touch()
    seal(run)


def _take_down(run: RunDirectory, folder: Path) -> None:
    if not folder.exists():
        return
    logs = folder / "logs"
    if logs.is_dir():
        shutil.copytree(logs, run.logs / "stack", dirs_exist_ok=True)
    take_down(folder)
    shutil.rmtree(folder, ignore_errors=True)
