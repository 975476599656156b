"""Half an hour a sink under kills of driver, executor and store or broker, one every 20 to 60 s.

Every sink that promises exactly-once, one after another; 5 million events each, at a steady rate,
so that a moment of the input is a moment of the clock. `MINUTES` in the environment tries it small,
and `SINK` takes one; earlier results of this commit are included.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path
from random import Random

from onceproof.machine.home import onceproof_home
from onceproof.sinks import find_sink
from onceproof.stacks.local.stack import LocalStack
from tests.prove.kept import Kept
from tests.prove.kills import correct_sinks
from tests.prove.living import live_fields

MINUTES, EVENTS_A_MINUTE, SEED = 30, 166_667, 7
LEAST_S, MOST_S = 20, 60


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    minutes = float(os.environ.get("MINUTES", MINUTES))
    home = onceproof_home() / f"prove-mixed{os.environ.get('SINK', '')}"  # two may run at once
    kept = Kept("mixed")
    lines = [
        "| sink | pipeline | events | verdict | faults landed | lost, duplicated | first commit s,"
        " median, worst | run again | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home, is_quick=False):
        for sink in correct_sinks():
            found = one(sink, minutes, Path(folder), home)
            result = {"row": row(sink, found), "said": []}
            if found["verdict"] != "PASS":
                result["said"] = [f"- {sink}: {'; '.join(found['reasons'])}"]
            kept.add(sink, result)
            sys.stderr.write("\n".join([result["row"], *result["said"], ""]))
    said = [word for one in kept.all() for word in one["said"]]
    return "\n".join([*lines, *(one["row"] for one in kept.all()), "", *said])


def one(sink: str, minutes: float, folder: Path, home: Path) -> dict:
    """Live one sink's run, and return its verdict document."""
    return live_fields(fields_of(sink, minutes), SEED, folder, home)


def fields_of(sink: str, minutes: float) -> dict:
    """The scenario: `app_views` where the sink takes updates, else `sliding_counts`."""
    pipeline = "app_views" if "update" in find_sink(sink).modes else "sliding_counts"
    faults = faults_of(sink, minutes)
    seconds = int(minutes * 60)
    return {
        "name": f"{pipeline}__{sink}__mixed",
        "pipeline": pipeline,
        "sink": sink,
        "faults": faults,
        "max_offsets": EVENTS_A_MINUTE // 2,
        "workload": {
            "events": int(EVENTS_A_MINUTE * minutes),
            "partitions": 4,
            "rate": EVENTS_A_MINUTE // 60,
            "keys": 1000,
            "span_ms": seconds * 1000,
        },
        "restart": {"strategy": "fixed-delay", "attempts": 3 * len(faults) + 3, "delay_s": 0.5},
        "limits": {"run_s": 2 * seconds + 600, "stall_s": 180},
    }


def faults_of(sink: str, minutes: float) -> list[dict]:
    """Three kinds in turn, in an order and at moments drawn from the seed."""
    rng = Random(f"{SEED} {sink}")
    store = "store" if find_sink(sink).store == "postgresql" else "broker:any"
    kinds = ("driver", "executor:any", store)
    faults: list[dict] = []
    at = rng.uniform(LEAST_S, MOST_S)
    while at < minutes * 60 - LEAST_S:
        target = kinds[len(faults) % 3] if len(faults) < 3 else rng.choice(kinds)
        name = f"kill_{target.partition(':')[0]}_{len(faults) + 1}"
        when = {"acknowledged": round(at / (minutes * 60), 4)}
        faults.append({"name": name, "do": "kill", "target": target, "when": when})
        at += rng.uniform(LEAST_S, MOST_S)
    return faults


def row(sink: str, found: dict) -> str:
    recoveries = [one["recovery"] for one in found["faults"] if one["recovery"]]
    seconds = sorted(one["first_commit_s"] for one in recoveries if one["first_commit_s"])
    again = sum(one["reprocessed"] or 0 for one in recoveries)
    wrong = ", ".join(str(found["differences"].get(name)) for name in ("lost", "duplicated"))
    median, worst = (seconds[len(seconds) // 2], seconds[-1]) if seconds else (0.0, 0.0)
    cells = [
        f"`{sink}`",
        found["plan"]["jobs"][0]["name"],
        f"{found['counts']['acknowledged'] or 0:,}",
        found["verdict"],
        f"{sum(one['landed'] for one in found['faults'])} of {len(found['faults'])}",
        wrong,
        f"{median:.1f}, {worst:.1f}",
        f"{again:,}",
        f"{found['timeline']['seconds']:.0f}",
    ]
    return f"| {' | '.join(cells)} |"
