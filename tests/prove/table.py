"""`onceproof table`, whole: measured, and written down as a table of cells."""

from __future__ import annotations

import json
import os

from tests.system.command import run

LIMIT_S = 1500


def prove() -> str:
    quick = ["--quick"] if os.environ.get("QUICK") else []
    code, out, said = run("table", *quick, "--json", timeout_s=LIMIT_S)
    if not out:
        raise SystemExit(f"table exits with {code}: {said}")
    return text(json.loads(out))


def text(document: dict) -> str:
    """Return the section of docs/reference/results.md."""
    kind = "`onceproof table --quick`" if document["quick"] else "`onceproof table`"
    lines = [f"{kind}, {document['seconds']:.0f} s.", ""]
    lines += ["| source | family | sink | claimed | measured | crash points | complete |"]
    lines += ["|---|---|---|---|---|---|---|"]
    said = []
    for one in document["cells"]:
        landed = [step["landed"] for step in one["crash_points"]]
        names = ("source", "family", "sink", "claimed", "measured")
        cells = [*(str(one[name]) for name in names), f"{sum(landed)} of {len(landed)}"]
        lines.append(f"| {' | '.join(cells)} | {'yes' if one['complete'] else 'no'} |")
        where = f"- `{one['sink']}`, {one['source']}"
        if one["reason"]:
            said.append(f"{where}: {one['reason']}.")
        seen = ", ".join(f"{name} by {by}" for name, by in one["witnessed"].items())
        said.append(f"{where}, witnessed: {seen or 'nothing'}.")
    return "\n".join([*lines, "", *said])
