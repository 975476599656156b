"""The plan of a stored run once more, as a new run with names of its own."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from onceproof.documents import read_object
from onceproof.errors import EvidenceError, RequestError
from onceproof.phases.plan import make_directory, name_of
from onceproof.run import RunDirectory
from onceproof.work import Work


def plan_again(run: RunDirectory, runs: Path) -> RunDirectory:
    """Write the plan of a run into a new directory; only the names that hold the time differ."""
    try:
        plan = read_object(run.plan)
        work = Work.of(plan)
    except EvidenceError as error:
        raise RequestError(f"{run.root} cannot be run again: {error}") from None
    again = make_directory(runs / work.scenario, f"{datetime.now(UTC):%Y%m%dT%H%M%S}", work.seed)
    name = name_of(work.scenario, work.seed, again.root)
    text = json.dumps(plan | {"run": name}, indent=1).replace(f'"{work.run}.', f'"{name}.')
    part = again.plan.with_suffix(".part")
    part.write_text(text + "\n", encoding="utf-8")
    os.replace(part, again.plan)
    return again
