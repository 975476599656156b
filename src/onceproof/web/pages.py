"""The pages as HTML: no script, no request to elsewhere, every text of the data escaped."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from onceproof.judge.report.html import templates
from onceproof.web.gates import Gates
from onceproof.web.grid import Grid
from onceproof.web.one_run import Judged
from onceproof.web.standing import Standing
from onceproof.web.tally import tally

_HERE = Path(__file__).parent


def nights_html(grid: Grid, gates: Gates, now: datetime) -> str:
    """Return the page of all nights, as of now."""
    page: str = _template("nights").render(
        grid=grid,
        gates=gates,
        tally=tally(grid, now),
        standings=sorted(Standing, key=lambda one: -one.rank),
        now=now,
    )
    return page


def run_html(judged: Judged | None, dag_run: str, runs: str) -> str:
    """Return the page of one run; of None, where nothing belongs to the DAG run, it says so."""
    page: str = _template("run").render(judged=judged, dag_run=dag_run, runs=runs)
    return page


def trouble_html(trouble: str) -> str:
    """Return the page that says why there is no other."""
    page: str = _template("trouble").render(trouble=trouble)
    return page


@cache
def _template(name: str) -> Any:
    return templates(_HERE).get_template(f"{name}.html.j2")
