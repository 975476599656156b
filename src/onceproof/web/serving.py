"""The answers of Airflow's API server: a page for each address, with its headers.

The pages are HTML without external requests, and all data is escaped. Only the page of nights has a
script, which shows times in the reader's time zone.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from onceproof.documents import read_object
from onceproof.errors import OnceproofError
from onceproof.judging.report.html import templates
from onceproof.machine.home import runs_folder
from onceproof.past.entry import Entry, name_of
from onceproof.past.record import history_of
from onceproof.past.store import Store, open_store
from onceproof.web.gates import Gates, find_gates, policy_of, versions_of
from onceproof.web.grid import Grid, Standing, make_grid, tally
from onceproof.web.one_run import Judged, find_dag_run, judged_run, report_of

DAG = "onceproof_run"
_ONLY_THIS_PAGE = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'self'"
)
_HEADERS = {
    "Content-Security-Policy": _ONLY_THIS_PAGE,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}
# A report shows foreign data: the sandbox keeps it from acting as a page of Airflow.
_OF_REPORTS = _HEADERS | {"Content-Security-Policy": f"{_ONLY_THIS_PAGE}; sandbox"}
_HERE = Path(__file__).parent
_SCRIPT = (_HERE / "times.js").read_text(encoding="utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_WITH_SCRIPT = {"Content-Security-Policy": f"{_ONLY_THIS_PAGE}; script-src 'sha256-{_DIGEST}'"}


@dataclass(frozen=True)
class Page:
    """An HTTP answer."""

    html: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=_HEADERS.copy)


def nights_page() -> Page:
    """Return the page of all nights."""
    return _or_trouble(_nights)


def run_page(dag: str, dag_run: str) -> Page:
    """Return the page of the run of a DAG run; runs of other DAGs have none."""
    return _or_trouble(lambda: _run(dag, dag_run))


def report_page(name: str) -> Page:
    """Return the report of a run in the verdict history, if it is in the runs folder."""
    return _or_trouble(lambda: _report(name))


def _or_trouble(make: Callable[[], Page]) -> Page:
    try:
        return make()
    except OnceproofError as error:
        return Page(trouble_html(str(error)), 503)


def _nights() -> Page:
    runs, now = runs_folder(), datetime.now(UTC)
    store = _open(runs)
    entries, issues = (store.entries(), store.issues()) if store else ([], [])
    nights = store.nights() if store else []

    def link(entry: Entry) -> str:
        return _link(entry, runs)

    grid = make_grid(entries, issues, now, link, nights)
    versions = versions_of(grid.entries)
    gates = find_gates(policy_of(runs), versions, entries, issues, now, link)
    return Page(nights_html(grid, gates, now), headers=_HEADERS | _WITH_SCRIPT)


def _run(dag: str, dag_run: str) -> Page:
    runs, now = runs_folder(), datetime.now(UTC)
    run = find_dag_run(dag_run, runs) if dag == DAG and dag_run else None
    if run is None:
        return Page(run_html(None, dag_run, str(runs)))
    store = _open(runs)
    entry = store.find(name_of(run, read_object(run.plan))) if store else None
    issues = store.issues() if store else []
    link = _link(entry, runs) if entry else ""
    return Page(run_html(judged_run(run, entry, issues, now, link), dag_run, str(runs)))


def _report(name: str) -> Page:
    runs = runs_folder()
    store = _open(runs)
    entry = store.find(name) if store else None
    report = report_of(Path(entry.directory), runs) if entry else None
    if report is None:
        return Page(trouble_html("The runs folder has no such report"), 404)
    return Page(report.read_text(encoding="utf-8", errors="replace"), headers=_OF_REPORTS)


def _open(runs: Path) -> Store | None:
    """Open the verdict history, or return None: reading must not create it."""
    address = history_of(runs)
    if "://" not in address and not Path(address).exists():
        return None
    return open_store(address)


def _link(entry: Entry, runs: Path) -> str:
    """Return the address of a run's report, relative to the pages; empty without a report."""
    is_public = not entry.pruned and report_of(Path(entry.directory), runs)
    return f"report/{quote(entry.run, safe='')}" if is_public else ""


def nights_html(grid: Grid, gates: Gates, now: datetime) -> str:
    """Return the page of all nights at a time."""
    from markupsafe import Markup

    page: str = _template("nights").render(
        grid=grid,
        gates=gates,
        tally=tally(grid, now),
        standings=sorted(Standing, key=lambda one: -one.rank),
        now=now,
        script=Markup(_SCRIPT),  # noqa: S704
    )
    return page


def run_html(judged: Judged | None, dag_run: str, runs: str) -> str:
    """Return the page of a run; for None, the page for a DAG run without a run."""
    page: str = _template("run").render(judged=judged, dag_run=dag_run, runs=runs)
    return page


def trouble_html(trouble: str) -> str:
    """Return the page with the reason why there is no other."""
    page: str = _template("trouble").render(trouble=trouble)
    return page


@cache
def _template(name: str) -> Any:
    return templates(_HERE).get_template(f"{name}.html.j2")
