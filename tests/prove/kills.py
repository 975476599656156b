"""Every correct sink under random kills of driver, executor and store, ten seeds each.

What is killed when is drawn from the seed; where the store is a folder, a broker is killed instead.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import yaml

from onceproof.guarantee import Guarantee
from onceproof.home import onceproof_home
from onceproof.phases.plan import make_plan
from onceproof.phases.whole_run import live_run
from onceproof.scenario.catalogue import find_scenario
from onceproof.sinks import SINKS, find_sink
from onceproof.stacks.local import LocalStack

SEEDS = range(10)
EVENTS, ROWS_A_BATCH = 6000, 400


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "prove-kills"
    lines = [
        "| sink | runs | verdicts | faults landed | lost, duplicated |",
        "|---|---|---|---|---|",
    ]
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home):
        for sink in SINKS:
            if find_sink(sink).guarantee is Guarantee.EXACTLY_ONCE:
                found = [one(sink, seed, Path(folder), home) for seed in SEEDS]
                lines.append(row(sink, found))
                said += [
                    f"- {sink}, seed {document['seed']}: {'; '.join(document['reasons'])}"
                    for document in found
                    if document["verdict"] != "PASS"
                ]
                sys.stderr.write("\n".join([lines[-1], *said, ""]))
    return "\n".join([*lines, "", *said])


def one(sink: str, seed: int, folder: Path, home: Path) -> dict:
    """Live one run with its kills, and return its verdict document."""
    rng = Random(f"{seed} {sink}")
    store = "store" if find_sink(sink).store == "postgresql" else "broker:any"
    faults = [
        {"do": "kill", "target": target, "when": {"committed": round(rng.uniform(0.05, 0.7), 2)}}
        for target in ("driver", "executor:any", store)
    ]
    fields = {
        "name": f"copy_events__{sink}__kills",
        "pipeline": "copy_events",
        "sink": sink,
        "faults": faults,
        "max_offsets": ROWS_A_BATCH,
        "workload": {"events": EVENTS, "partitions": 4, "rate": 0},
        "restart": {"strategy": "fixed-delay", "attempts": 12, "delay_s": 0.5},
    }
    file = folder / f"{sink}.yaml"
    file.write_text(yaml.safe_dump(fields))
    run = make_plan(find_scenario(str(file)), seed, folder / "runs")
    live_run(run, home)
    return json.loads(run.verdict.read_text())


def row(sink: str, found: list[dict]) -> str:
    verdicts = Counter(document["verdict"] for document in found)
    words = ", ".join(f"{grade} {count}" for grade, count in sorted(verdicts.items()))
    faults = [fault["landed"] for document in found for fault in document["faults"]]
    wrong = [
        sum(document["differences"].get(name) or 0 for document in found)
        for name in ("lost", "duplicated")
    ]
    cells = [f"`{sink}`", str(len(found)), words, f"{sum(faults)} of {len(faults)}"]
    return f"| {' | '.join([*cells, ', '.join(map(str, wrong))])} |"
