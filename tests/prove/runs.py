"""The idempotent sink under each kill, ten seeds each: none but PASS will do."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.scenario.catalogue import find_scenario
from onceproof.stacks.local.stack import LocalStack
from tests.prove.living import live

SEEDS = range(10)
NAMES = [
    *(f"app_views__upsert_table__kill_{whom}" for whom in ("driver", "executor", "leader")),
    "sliding_counts__upsert_table__kill_driver_twice",
]


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    folder = onceproof_home() / "prove-runs"
    lines = ["| scenario | runs | verdicts | faults landed |", "|---|---|---|---|"]
    said: list[str] = []
    with tempfile.TemporaryDirectory() as runs, LocalStack.up(folder):
        for name in NAMES:
            found = [one(name, seed, Path(runs), folder) for seed in SEEDS]
            verdicts = Counter(document["verdict"] for document in found)
            faults = [fault["landed"] for document in found for fault in document["faults"]]
            words = ", ".join(f"{grade} {count}" for grade, count in sorted(verdicts.items()))
            lines.append(f"| `{name}` | {len(found)} | {words} | {sum(faults)} of {len(faults)} |")
            said += [
                f"- {name}, seed {document['seed']}: {'; '.join(document['reasons'])}"
                for document in found
                if document["verdict"] != "PASS"
            ]
            sys.stderr.write("\n".join([lines[-1], *said, ""]))
    return "\n".join([*lines, "", *said])


def one(name: str, seed: int, runs: Path, folder: Path) -> dict:
    return live(find_scenario(name), seed, runs, folder)
