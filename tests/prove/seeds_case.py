"""Windows at 10,000 events a second and a trigger every 6 s, killed at every step of the engine.

The steps are those that the checkpoint's files show and those of the sink's protocol; those of a
task strike the executor that runs it, the others the driver. Two batches lie between two kills.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from onceproof.failpoints import SEEN, TASK
from onceproof.machine.home import onceproof_home
from onceproof.sinks import find_sink
from onceproof.stacks.local.stack import LocalStack
from tests.prove.living import differences, live_fields

SINK, RATE, TRIGGER_S = "two_phase_table", 10_000, 6


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "prove-seeds"
    steps = (*SEEN, *find_sink(SINK).steps)
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home, is_quick=False):
        return page(visit(steps, Path(folder), home))


def visit(steps: tuple[str, ...], folder: Path, home: Path, rate: int = RATE) -> dict:
    """Live the run that is killed at these steps, and return its verdict document."""
    return live_fields(fields_of(steps, rate), 7, folder, home)


def fields_of(steps: tuple[str, ...], rate: int = RATE) -> dict:
    seconds = TRIGGER_S * (2 * len(steps) + 4)
    faults = [
        {
            "name": f"kill_at_{step}",
            "do": "kill",
            "target": "executor" if step in TASK else "driver",
            "when": {"failpoint": step, "batch": 2 * number + 1},
        }
        for number, step in enumerate(steps)
    ]
    return {
        "name": f"sliding_counts__{SINK}__every_step",
        "pipeline": "sliding_counts",
        "sink": SINK,
        "state_store": "rocksdb_changelog",
        "max_offsets": 2 * rate * TRIGGER_S,
        "trigger": f"{TRIGGER_S} seconds",
        "workload": {
            "events": rate * seconds,
            "partitions": 4,
            "producers": 2,
            "rate": rate,
            "keys": 1000,
            "span_ms": seconds * 1000,
            "late": 0.05,
            "late_by_ms": 20_000,
        },
        "faults": faults,
        "restart": {"strategy": "fixed-delay", "attempts": len(steps) + 3, "delay_s": 0.1},
        "limits": {"run_s": 1800, "stall_s": 180},
    }


def page(found: dict) -> str:
    counts = found["counts"]
    lines = [
        f"{counts['acknowledged'] or 0:,} events, {counts['late'] or 0:,} windows of them too late;"
        f" {found['verdict']}, differences: {differences(found)}; in"
        f" {found['timeline']['seconds']:.0f} s.",
        "",
        "| killed at | landed | first commit s | caught up s | run again |",
        "|---|---|---|---|---|",
    ]
    for fault in found["faults"]:
        back = fault["recovery"] or {}
        cells = [fault["name"].removeprefix("kill_at_"), "yes" if fault["landed"] else "no"]
        cells += [str(back.get(name)) for name in ("first_commit_s", "caught_up_s", "reprocessed")]
        lines.append(f"| {' | '.join(cells)} |")
    said = [] if found["verdict"] == "PASS" else ["", *(f"- {one}" for one in found["reasons"])]
    return "\n".join([*lines, *said])
