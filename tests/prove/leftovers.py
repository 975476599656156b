"""The harness killed at random moments, while what it struck is still struck: nothing is left.

Killed are the command, the agent, or both; then `onceproof release` is run twice on what is left.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml

from onceproof.errors import StackError
from onceproof.job.attempt import job_processes
from onceproof.job.handle import find_agent
from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.records import Op
from onceproof.stacks.links.member import send_order
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.brokers import ask
from tests.system.command import run, start

ROUNDS, SEED = 30, 7
# Moments below the first are counted from the plan, those above it from the first strike: a slow
# machine comes to its strikes late.
EARLY_S, LONGEST_S = 3.0, 9.0
LOOK = {"do": "look"}
WHOM = ("command", "agent", "both")
FAULTS = [
    {"do": "pause", "target": "broker:any", "when": {"acknowledged": 0.01}},
    {"do": "blackhole", "target": "store", "when": {"acknowledged": 0.015}},
    {"do": "pause", "target": "store", "when": {"acknowledged": 0.02}},
    {"do": "stop", "target": "worker:any", "when": {"acknowledged": 0.03}},
    {"do": "pause", "target": "driver", "when": {"batch": 0}},
]
FULL = {"do": "fill", "target": "checkpoint", "when": {"acknowledged": 0.025}}
FIELDS = {
    "name": "copy_events__upsert_table__leftovers",
    "pipeline": "copy_events",
    "sink": "upsert_table",
    "max_offsets": 200,
    "workload": {"events": 4000, "partitions": 4, "rate": 150},
    "restart": {"strategy": "fixed-delay", "attempts": 9, "delay_s": 0.1},
    "faults": FAULTS + [FULL] * (os.geteuid() == 0),  # only root mounts a disk
}


@dataclass(frozen=True)
class Round:
    """What was killed, when, how many faults had struck, and what was left after release."""

    whom: str
    after_s: float
    struck: int
    left: tuple[str, ...]


def visit(stack: LocalStack, folder: Path, rng: Random) -> Round:
    """Start a run, kill its harness at a moment drawn from `rng`, release, and look."""
    file = folder / "leftovers.yaml"
    file.write_text(yaml.safe_dump(FIELDS))
    whom, after_s = rng.choice(WHOM), rng.uniform(0.5, LONGEST_S)
    before = set(folder.glob("runs/*/*/plan.json"))
    child = start("run", file, "--runs", folder / "runs", "--home", stack.state.folder)

    def new() -> list[Path]:
        return [*set(folder.glob("runs/*/*/plan.json")) - before]

    try:
        (plan,) = wait_for(new, 30, "there is no plan")
        found = RunDirectory(plan.parent)
        if after_s > EARLY_S:
            wait_for(lambda: _has_struck(found), 120, "nothing strikes")
        # The moment is what is tried, not something waited for.
        time.sleep(after_s - EARLY_S if after_s > EARLY_S else after_s)
        _kill(child, found, whom)
    finally:
        child.kill() if whom != "agent" else None
        child.communicate(timeout=120)
    for _ in range(2):
        code, _, said = run("release", found.root)
        if code:
            return Round(whom, after_s, 0, (f"release failed: {said}",))
    struck = [one for one in History(found.history).read() if one.op is Op.FAULT_STRIKE]
    return Round(whom, after_s, sum(one.is_ok for one in struck), tuple(left_of(stack, found)))


def _has_struck(found: RunDirectory) -> bool:
    return any(one.op is Op.FAULT_STRIKE for one in History(found.history).so_far())


def _kill(child, found: RunDirectory, whom: str) -> None:
    agent = find_agent(found)
    if whom != "agent":
        child.kill()
    if whom != "command" and agent is not None:
        agent.send(9)


def left_of(stack: LocalStack, found: RunDirectory) -> list[str]:
    """Say what of a run is left, and what of the stack is not as it was."""
    name = json.loads(found.plan.read_text())["run"]
    agent = find_agent(found)
    said = [f"{one.name} is not healthy" for one in stack.status() if not one.healthy]
    said += [f"process {one.pid} of the job lives" for one in job_processes(name)]
    said += [f"process {one.pid} stands still" for one in stack.state.processes() if one.is_paused]
    said += ["the agent lives"] if agent and agent.is_alive else []
    said += ["spark-local is there"] if (found.root / "spark-local").exists() else []
    said += [
        f"{one['rule']['name']} is in force" for one in send_order(stack.state, LOOK)["in_force"]
    ]
    said += ["a disk is mounted"] if os.path.ismount(found.checkpoint) else []
    topics = ask(stack.brokers, lambda client: client.list_topics())
    return said + ([f"{name}.events is there"] if f"{name}.events" in topics else [])


def prove() -> str:
    rng, rounds = Random(SEED), []
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalStack.up(onceproof_home() / "prove-leftovers", links=True) as stack,
    ):
        for _ in range(ROUNDS):
            rounds.append(visit(stack, Path(folder), rng))
            if rounds[-1].left:
                raise StackError(f"{rounds[-1]}")
    whom = Counter(one.whom for one in rounds)
    hurt = sum(one.struck > 0 for one in rounds)
    killed = ", ".join(f"{name} {count}" for name, count in sorted(whom.items()))
    return (
        f"{ROUNDS} runs whose harness was killed in their first {EARLY_S:g} s, or up to"
        f" {LONGEST_S - EARLY_S:g} s behind the first strike (seed {SEED}): {killed}. In"
        f" {hurt} of them something was paused, stopped, cut off or full by then,"
        f" {sum(one.struck for one in rounds)} times in all. After `release`, run twice,"
        " every member served, nothing stood still, no link was struck, no disk mounted, and no"
        " process, topic or folder of a run was left."
    )
