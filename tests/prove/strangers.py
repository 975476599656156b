"""Jobs of strangers: each must get the verdict that it claims, with the batch that is to blame."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.scenario.catalogue import find_scenario, read_file
from onceproof.scenario.model import IN_FILE
from onceproof.stacks.local.stack import LocalStack
from tests.prove.living import live

_FOLDER = Path(__file__).parents[1] / "system/strangers"
ORDERS = _FOLDER / "orders.yaml"
FILES = (ORDERS, _FOLDER / "shop.yaml")
SEED = 7


def prove(names: tuple[str, ...] = ()) -> str:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    folder = onceproof_home() / "prove-strangers"
    lines = [
        "| job | seed | verdict | as claimed | differences | blame |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as runs, LocalStack.up(folder):
        found = [f"{file}{IN_FILE}{one.name}" for file in FILES for one in read_file(file)]
        for address in found:
            if names and not address.endswith(tuple(f"{IN_FILE}{name}" for name in names)):
                continue
            scenario = find_scenario(address)
            lines.append(_line(live(scenario, SEED, Path(runs), folder)))
            sys.stderr.write(f"{lines[-1]}\n")
    return "\n".join(lines)


def _line(found: dict) -> str:
    differences = ", ".join(
        f"{many:,} {name}" for name, many in found["differences"].items() if many
    )
    said = Counter(one["sentence"] for one in found["blame"]).most_common(1)
    why = said[0][0] if said else "; ".join(found["reasons"] if found["verdict"] != "PASS" else [])
    cells = [found["scenario"], found["seed"], found["verdict"], found["as_claimed"]]
    return f"| {' | '.join(map(str, [*cells, differences or 'none', why]))} |"


if __name__ == "__main__":
    sys.stdout.write(prove(tuple(sys.argv[1:])) + "\n")
