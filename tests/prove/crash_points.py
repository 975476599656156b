"""Each sink killed at every step of its protocol, in one run: a step a batch.

Steps of a task strike the executor that runs it, the others the driver.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path

import yaml

from onceproof.failpoints import SEEN, TASK
from onceproof.home import onceproof_home
from onceproof.phases.plan import make_plan
from onceproof.phases.whole_run import live_run
from onceproof.scenario.catalogue import find_scenario
from onceproof.sinks import SINKS, find_sink
from onceproof.stacks.local import LocalStack

DUPLICATES = ("append_table", "wal_table", "append_topic", "wal_topic")
ROWS_A_BATCH = 400


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "prove-points"
    lines = ["| sink | held to exactly-once | as claimed | landed | lost | duplicated | seconds |"]
    lines += ["|---|---|---|---|---|---|---|"]
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home):
        for sink in SINKS:
            found = visit(sink, 7, Path(folder), home)
            lines.append(row(sink, found))
            if not found["as_claimed"]:
                said.append(f"- {sink}: {'; '.join(found['reasons'])}")
            sys.stderr.write(f"{lines[-1]}\n")
    return "\n".join([*lines, "", *said])


def visit(
    sink: str, seed: int, folder: Path, home: Path, steps: tuple[str, ...] | None = None
) -> dict:
    """Run a scenario that strikes at each step, of a sink's own all, and return its verdict."""
    points = steps or (*SEEN, *find_sink(sink).steps)
    faults = [
        {
            "name": f"kill_at_{point}",
            "do": "kill",
            "target": "executor" if point in TASK else "driver",
            "when": {"failpoint": point, "batch": 2 * number + 1},
        }
        for number, point in enumerate(points)
    ]
    batches = 2 * len(points) + 3
    fields = {
        "name": f"copy_events__{sink}__crash_points",
        "pipeline": "copy_events",
        "sink": sink,
        "faults": faults,
        "max_offsets": ROWS_A_BATCH,
        "workload": {"events": ROWS_A_BATCH * batches, "partitions": 4, "rate": 0},
        "restart": {"strategy": "fixed-delay", "attempts": len(points) + 3, "delay_s": 0.1},
        "limits": {"run_s": 900, "stall_s": 90},
        "hold_to": "exactly-once",
    }
    if sink in DUPLICATES:
        fields |= {"claims": "FAIL", "anomalies": ["duplicated"]}
    file = folder / f"{sink}.yaml"
    file.write_text(yaml.safe_dump(fields))
    run = make_plan(find_scenario(str(file)), seed, folder / "runs")
    live_run(run, home)
    return json.loads(run.verdict.read_text())


def row(sink: str, found: dict) -> str:
    landed = [fault["landed"] for fault in found["faults"]]
    lost, duplicated = (found["differences"].get(name) for name in ("lost", "duplicated"))
    cells = [f"`{sink}`", found["verdict"], "yes" if found["as_claimed"] else "no"]
    cells += [f"{sum(landed)} of {len(landed)}", f"{lost}", f"{duplicated}"]
    return f"| {' | '.join(cells)} | {found['timeline']['seconds']:.0f} |"
