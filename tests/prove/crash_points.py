"""Each sink killed at every step of its protocol, in one run: a step a batch.

The longer table: every concrete sink, every crash point, and what was seen of that batch.
`SINK=upsert_table,wal_topic` takes only those; earlier results of this commit are included.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from itertools import chain
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.sinks import SINKS
from onceproof.stacks.local.stack import LocalStack
from onceproof.table.visit import KAFKA, Visit, points, visit
from tests.prove.kept import Kept, asked


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    kept = Kept("points")
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalStack.up(onceproof_home() / "prove-points") as stack,
    ):
        for sink in asked("SINK", SINKS):
            found = visit(sink, KAFKA, points(sink), stack, Path(folder))
            why = "; ".join(found.document["reasons"])
            said = [] if found.document["as_claimed"] else [f"- {sink}: {why}"]
            kept.add(sink, {"row": row(found), "steps": steps(found), "said": said})
            sys.stderr.write(f"{row(found)}\n")
    return page(kept.all())


def page(found: list[dict]) -> str:
    """Both tables, and why one is not as claimed."""
    lines = ["| sink | held to exactly-once | as claimed | landed | lost | duplicated | seconds |"]
    lines += ["|---|---|---|---|---|---|---|", *(one["row"] for one in found)]
    lines += ["", "| sink | crash point | dies | seen of its batch |", "|---|---|---|---|"]
    steps, said = (list(chain(*(one[part] for one in found))) for part in ("steps", "said"))
    return "\n".join([*lines, *steps, "", *said])


def row(visit: Visit) -> str:
    found = visit.document
    landed = [step.landed for step in visit.steps]
    lost, duplicated = (found["differences"].get(name) for name in ("lost", "duplicated"))
    cells = [f"`{visit.sink}`", found["verdict"], "yes" if found["as_claimed"] else "no"]
    cells += [f"{sum(landed)} of {len(landed)}", f"{lost}", f"{duplicated}"]
    return f"| {' | '.join(cells)} | {found['timeline']['seconds']:.0f} |"


def steps(visit: Visit) -> list[str]:
    """What each death of a visit has led to; `stuck` is of the whole run."""
    stuck = visit.document["differences"].get("stuck")
    at_the_end = " (stuck at the end)" if stuck else ""
    return [
        f"| `{visit.sink}` | `{one.point}` | {one.dies if one.landed else f'{one.dies}: no proof'}"
        f" | {one.outcome}{at_the_end} |"
        for one in visit.steps
    ]
