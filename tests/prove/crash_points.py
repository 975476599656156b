"""Each sink killed at every step of its protocol, in one run: a step a batch.

The longer table: every concrete sink, every crash point, and what was seen of that batch.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path

from onceproof.home import onceproof_home
from onceproof.sinks import SINKS
from onceproof.stacks.local import LocalStack
from onceproof.table.visit import KAFKA, Visit, points, visit


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    lines = ["| sink | held to exactly-once | as claimed | landed | lost | duplicated | seconds |"]
    lines += ["|---|---|---|---|---|---|---|"]
    longer = ["| sink | crash point | dies | seen of its batch |", "|---|---|---|---|"]
    said: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalStack.up(onceproof_home() / "prove-points") as stack,
    ):
        for sink in SINKS:
            found = visit(sink, KAFKA, points(sink), stack, Path(folder))
            lines.append(row(found))
            longer += map(" | ".join, steps(found))
            if not found.document["as_claimed"]:
                said.append(f"- {sink}: {'; '.join(found.document['reasons'])}")
            sys.stderr.write(f"{lines[-1]}\n")
    return "\n".join([*lines, "", *longer, "", *said])


def row(visit: Visit) -> str:
    found = visit.document
    landed = [step.landed for step in visit.steps]
    lost, duplicated = (found["differences"].get(name) for name in ("lost", "duplicated"))
    cells = [f"`{visit.sink}`", found["verdict"], "yes" if found["as_claimed"] else "no"]
    cells += [f"{sum(landed)} of {len(landed)}", f"{lost}", f"{duplicated}"]
    return f"| {' | '.join(cells)} | {found['timeline']['seconds']:.0f} |"


def steps(visit: Visit) -> list[tuple[str, ...]]:
    """What each death of a visit has led to; `stuck` is of the whole run."""
    stuck = visit.document["differences"].get("stuck")
    return [
        (
            f"| `{visit.sink}`",
            f"`{one.point}`",
            one.dies if one.landed else f"{one.dies}: no proof",
            f"{one.outcome}{' (stuck at the end)' if stuck else ''} |",
        )
        for one in visit.steps
    ]
