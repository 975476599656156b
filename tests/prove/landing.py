"""How often each mechanism lands: over fifty strikes of each, several of them in one run.

`MECHANISM=fill checkpoint,rescale` takes only those; earlier results of this commit are included.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

from onceproof.machine.home import onceproof_home
from onceproof.stacks.local.stack import LocalStack
from tests.prove.kept import Kept, asked
from tests.prove.living import live_fields

STRIKES, A_RUN = 50, 25
EVENTS, A_BATCH = 12_000, 300
LEAST = 0.95
Fault = dict[str, Any]
# Each mechanism by what its faults say; each strikes at a share of the input, one after another, or
# at a step of every fourth batch.
MECHANISMS: dict[str, Fault] = {
    "kill driver": {"do": "kill", "target": "driver"},
    "kill job": {"do": "kill", "target": "job"},
    "kill executor": {"do": "kill", "target": "executor:any"},
    "pause driver": {"do": "pause", "target": "driver"},
    "kill leader": {"do": "kill", "target": "broker:leader=0"},
    "pause broker": {"do": "pause", "target": "broker:any"},
    "kill store": {"do": "kill", "target": "store"},
    "kill worker": {"do": "kill", "target": "worker:any"},
    "cut store": {"do": "cut", "target": "store", "how": {"from": "executor"}},
    "cut leader": {"do": "cut", "target": "broker:leader=0"},
    "part brokers": {"do": "blackhole", "target": "broker:any", "how": {"from": "brokers"}},
    "delay store": {"do": "delay", "target": "store"},
    "slow leader": {"do": "rate", "target": "broker:leader=0"},
    "store not heard": {
        "do": "blackhole",
        "target": "store",
        "how": {"from": "executor", "way": "answers"},
    },
    "abort input": {"do": "abort", "target": "input"},
    "fill checkpoint": {"do": "fill", "target": "checkpoint"},
    "rescale": {"do": "rescale", "target": "job"},
    "stop driver": {"do": "stop", "target": "driver"},
    "kill postmaster": {"do": "kill", "target": "store:postmaster"},
    "kill brokers": {"do": "kill", "target": "broker:all"},
    "restart brokers": {"do": "restart", "target": "broker:all"},
    "lose commit": {"do": "lose", "target": "commit", "step": "commit_logged"},
    "kill task": {"do": "kill", "target": "task", "step": "task_mid"},
    "raise driver": {"do": "raise", "target": "driver", "step": "decided"},
    "pause executor": {"do": "pause", "target": "executor", "step": "task_mid"},
    "second driver": {"do": "start", "target": "driver", "step": "all_pre_committed"},
}
# One that takes half a minute has fewer strikes in a run, whose batches come more slowly.
LONG = dict.fromkeys(("kill brokers", "restart brokers"), (10, {"trigger": "7 seconds"}))


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "prove-landing"
    lines = [f"| mechanism | strikes | landed | at least {LEAST:.0%} |", "|---|---|---|---|"]
    kept = Kept("landing")
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home, links=True):
        for name in asked("MECHANISM", MECHANISMS):
            fault = MECHANISMS[name]
            landed, struck, missed = try_out(name, fault, Path(folder), home)
            is_enough = "yes" if landed >= LEAST * struck else "NO"
            row = f"| {name} | {struck} | {landed} | {is_enough} |"
            said = [f"- {name}: {why} ({count} times)" for why, count in sorted(missed.items())]
            kept.add(name, {"row": row, "said": said})
            sys.stderr.write(f"{row}\n")
    rows, words = ([one[part] for one in kept.all()] for part in ("row", "said"))
    return "\n".join([*lines, *rows, "", *chain(*words)])


def try_out(name: str, fault: Fault, folder: Path, home: Path) -> tuple[int, int, dict[str, int]]:
    """Return how many strikes landed, how many there were, and why the others did not."""
    landed = struck = 0
    missed: dict[str, int] = defaultdict(int)
    a_run, _ = LONG.get(name, (A_RUN, {}))
    for seed in range(STRIKES // a_run):
        document = one(name, fault, seed, folder, home)
        for strike in document["faults"]:
            struck += 1
            landed += strike["landed"]
            if not strike["landed"]:
                missed["; ".join(document["reasons"])] += 1
    return landed, struck, missed


def one(name: str, fault: Fault, seed: int, folder: Path, home: Path) -> dict[str, Any]:
    """Live one run with several strikes of one mechanism, and return its verdict document."""
    word = name.replace(" ", "_")
    a_run, slowly = LONG.get(name, (A_RUN, {}))
    faults = [strike(fault, number, a_run) for number in range(a_run)]
    fields = {
        "name": f"copy_events__two_phase_table__{word}",
        "pipeline": "copy_events",
        "sink": "two_phase_table",
        "source_options": {"kafka.isolation.level": "read_committed"},
        "faults": faults,
        "max_offsets": A_BATCH,
        "workload": {"events": EVENTS, "partitions": 4, "rate": 0},
        "restart": {"strategy": "fixed-delay", "attempts": 40, "delay_s": 0.5},
        "limits": {"run_s": 600, "stall_s": 90},
        **slowly,
    }
    return live_fields(fields, seed, folder, home)


def strike(fault: Fault, number: int, a_run: int) -> Fault:
    """Return the fault at its place in a run; a job is rescaled to and fro."""
    said = {name: value for name, value in fault.items() if name != "step"}
    share, batch = round(0.05 + 0.9 * number / a_run, 3), 1 + EVENTS // A_BATCH * number // a_run
    step = fault.get("step")
    said["when"] = {"failpoint": step, "batch": batch} if step else {"committed": share}
    if fault["do"] == "rescale":
        said["how"] = {"executors": (1, 2)[number % 2]}
    return said | {"name": f"strike_{number}"}
