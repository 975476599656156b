"""Every scenario of the catalogue, once: whether it ends as it claims, on a stack with links.

`SCENARIO=copy_events__two_phase_topic__*` takes only those; earlier results of this commit are
included.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.scenario.catalogue import load_catalogue
from onceproof.scenario.model import Scenario
from onceproof.stacks.local.stack import LocalStack
from tests.prove.kept import Kept
from tests.prove.living import differences, live

SEED = 7


def prove() -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home, kept = onceproof_home() / "prove-catalogue", Kept("catalogue")
    with tempfile.TemporaryDirectory() as folder, LocalStack.up(home, links=True):
        for scenario in asked():
            found = summary(live(scenario, SEED, Path(folder), home))
            kept.add(scenario.name, found)
            sys.stderr.write(f"{row(found)}\n")
    return section(kept.all())


def asked() -> list[Scenario]:
    patterns = os.environ.get("SCENARIO", "*").split()
    return [
        one for one in load_catalogue() if any(fnmatch(one.name, pattern) for pattern in patterns)
    ]


def summary(found: dict) -> dict:
    names = ("scenario", "verdict", "as_claimed", "reasons", "differences")
    return {name: found[name] for name in names} | {
        "landed": [one["landed"] for one in found["faults"]],
        "effects": {one["name"]: effect(one["effect"]) for one in found["faults"]},
        "seconds": found["timeline"]["seconds"],
    }


def effect(measured: dict | None) -> str:
    """Return the degree of an effect and the numbers behind it."""
    if measured is None:
        return "did not land"
    numbers = [f"{name} {one}" for name, one in measured.items() if name != "degree" and one]
    more = f" ({'; '.join(numbers)})" if numbers else ""
    return f"{measured['degree']}{more}"


def section(found: list[dict]) -> str:
    """Return what docs/reference/results.md says of these runs."""
    claimed = sum(one["as_claimed"] for one in found)
    lines = [
        f"{len(found)} scenarios of {len(load_catalogue())}, seed {SEED}: {claimed} as claimed.",
        "",
        "| scenario | verdict | as claimed | faults landed | effect | differences | seconds |",
        "|---|---|---|---|---|---|---|",
        *(row(one) for one in sorted(found, key=lambda one: one["scenario"])),
    ]
    said = [
        f"- `{one['scenario']}`: {'; '.join(one['reasons'])}"
        for one in found
        if not one["as_claimed"]
    ]
    return "\n".join([*lines, "", *said])


def row(found: dict) -> str:
    landed = f"{sum(found['landed'])} of {len(found['landed'])}" if found["landed"] else "none"
    cells = [
        f"`{found['scenario']}`",
        found["verdict"],
        "yes" if found["as_claimed"] else "NO",
        landed,
        ", ".join(dict.fromkeys(found["effects"].values())) or "none planned",
        differences(found),
        f"{found['seconds']:.0f}",
    ]
    return f"| {' | '.join(cells)} |"
