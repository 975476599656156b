"""Sinks with a planted fault on the real stack, each in a run that must be called what it is."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.stacks.local.stack import LocalStack
from tests.mutants.on_the_stack import ON_THE_STACK, OnTheStack
from tests.prove.living import differences, live_fields

ROOT = Path(__file__).parents[2]


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    os.environ["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}"  # for the job and its executors
    home = onceproof_home() / "prove-mutants"
    lines = ["| fault | in | struck | must be | seen | called so |", "|---|---|---|---|---|---|"]
    greens = 0
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home):
        for mutant in asked():
            found = one(mutant, Path(folder), home)
            lines.append(row(mutant, found))
            greens += found["verdict"] == "PASS"
            sys.stderr.write(f"{lines[-1]}\n")
    return "\n".join([f"{greens} false greens among {len(asked())} mutants.", "", *lines])


def asked() -> list[OnTheStack]:
    """Return all, or those of the sinks that `MUTANT` names."""
    only = os.environ.get("MUTANT", "")
    return [one for one in ON_THE_STACK if not only or one.sink.__name__ in only.split(",")]


def one(mutant: OnTheStack, folder: Path, home: Path) -> dict:
    """Live one run of a mutant that is struck where it should show, and return its verdict."""
    when = {"failpoint": mutant.point, "batch": 2}
    fields = {
        "name": f"copy_events__mutant__{mutant.verb}_at_{mutant.point}",
        "pipeline": "copy_events",
        "sink": mutant.name,
        "faults": [{"do": mutant.verb, "target": "driver", "when": when}],
        "max_offsets": 400,
        "workload": {"events": 2400, "partitions": 4, "rate": 0},
        "hold_to": "exactly-once",
        "claims": "FAIL",
        "anomalies": mutant.classes,
    }
    return live_fields(fields, 7, folder, home)


def row(mutant: OnTheStack, found: dict) -> str:
    seen = differences(found)
    cells = [mutant.fault, mutant.sink.family, f"{mutant.verb} at `{mutant.point}`"]
    cells.append(" and ".join(mutant.classes))
    return f"| {' | '.join([*cells, seen])} | {'yes' if found['as_claimed'] else 'no'} |"
