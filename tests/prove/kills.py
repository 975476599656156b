"""Correct sinks under random kills of driver, executor and store: none may get FAIL.

Targets and times of kills are drawn from the seed; if the store is not a member of the stack, a
broker is killed instead. `SEEDS=3:7` and `SINK=upsert_table` take only those, so that the runs can
be split: earlier results of this commit are included.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from onceproof.guarantee import Guarantee
from onceproof.machine.home import onceproof_home
from onceproof.sinks import SINKS, find_sink
from onceproof.stacks.local.stack import LocalStack
from tests.prove.kept import Kept, asked
from tests.prove.living import live_fields

RUNS, UNKNOWN_AT_MOST = 50, 1
EVENTS, ROWS_A_BATCH = 6000, 400
KEPT = ("scenario", "seed", "verdict", "reasons", "faults", "differences")


def correct_sinks() -> list[str]:
    found = asked("SINK", SINKS)
    return [one for one in found if find_sink(one).guarantee is Guarantee.EXACTLY_ONCE]


def seeds() -> range:
    """Those that are asked for; without a word as many as make fifty runs."""
    first, _, last = os.environ.get("SEEDS", f"0:{-(-RUNS // len(correct_sinks()))}").partition(":")
    return range(int(first), int(last or int(first) + 1))


def prove() -> str:
    """Live a run for each sink and seed; say how many were called wrong, and which are unknown."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "prove-kills"
    kept = Kept("kills")
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home):
        for seed in seeds():
            for sink in correct_sinks():
                found = one(sink, seed, Path(folder), home)
                kept.add(f"{sink} {seed}", {name: found[name] for name in KEPT})
                sys.stderr.write(f"{sink}, seed {seed}: {found['verdict']}\n")
    return section(kept.all())


def section(found: list[dict]) -> str:
    """Return what docs/reference/results.md says of these runs."""
    grades = Counter(document["verdict"] for document in found)
    is_kept = not grades["FAIL"] and grades["UNKNOWN"] <= UNKNOWN_AT_MOST
    lines = [
        f"{len(found)} runs of sinks that promise exactly-once, each with a driver, an executor and"
        f" a store or broker killed at random: {grades['FAIL']} false reds, {grades['UNKNOWN']}"
        f" unknown (none and at most {UNKNOWN_AT_MOST} are allowed in {RUNS}):"
        f" {'kept' if is_kept else 'not kept'}.",
        "",
        "| sink | runs | verdicts | faults landed | lost, duplicated |",
        "|---|---|---|---|---|",
    ]
    lines += [
        row(sink, [document for document in found if sink_of(document) == sink])
        for sink in dict.fromkeys(map(sink_of, found))
    ]
    said = [
        f"- {sink_of(document)}, seed {document['seed']}: {'; '.join(document['reasons'])}"
        for document in found
        if document["verdict"] != "PASS"
    ]
    return "\n".join([*lines, "", *said])


def sink_of(document: dict) -> str:
    return document["scenario"].split("__")[1]


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
    return live_fields(fields, seed, folder, home)


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
