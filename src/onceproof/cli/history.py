"""`onceproof history`: the judged runs, the newest first, and trends of scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onceproof.cli.output import AsJson, Runs, print_columns, print_document
from onceproof.errors import RequestError, unknown
from onceproof.judging.report.text import printable
from onceproof.machine.home import runs_folder
from onceproof.verdict import Grade

if TYPE_CHECKING:
    from onceproof.past.entry import Entry
    from onceproof.past.issues import Issue

_COLUMNS = (
    "ran until (UTC)",
    "result",
    "verdict",
    "scenario",
    "seed",
    "version",
    "recovery",
    "run",
)
_TRENDS = ("scenario", "runs", "as claimed", "flaky", "recovery, median", "worst")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(history)


def history(
    scenario: Annotated[str, typer.Option(help="Only runs of this scenario.")] = "",
    tag: Annotated[str, typer.Option(help="Only runs of scenarios with this tag.")] = "",
    subject: Annotated[str, typer.Option(help="Only runs of this version.")] = "",
    night: Annotated[str, typer.Option(help="Only runs of this night.")] = "",
    verdict: Annotated[str, typer.Option(help="Only PASS, UNKNOWN or FAIL.")] = "",
    last: Annotated[int, typer.Option(min=0, help="At most this many, the newest; 0: all.")] = 0,
    trend: Annotated[bool, typer.Option("--trend", help="Numbers per scenario.")] = False,
    runs: Runs = None,
    as_json: AsJson = False,
) -> None:
    """List the judged runs, the newest first."""
    from onceproof.past.record import find_store

    if verdict and verdict not in list(Grade):
        raise RequestError(unknown("--verdict", verdict, Grade))
    store = find_store(runs_folder(runs))
    wanted = {"scenario": scenario, "tag": tag, "subject": subject, "night": night}
    found = store.entries(**wanted, verdict=verdict, last=last) if store else []
    issues = store.issues() if store else []
    if trend:
        _print_trends(found, as_json=as_json)
    else:
        _print_runs([_document(one, issues) for one in found], as_json=as_json)


def _document(entry: Entry, issues: Sequence[Issue]) -> dict[str, Any]:
    from onceproof.past.issues import result_of

    result, issue = result_of(entry, issues, datetime.now(UTC))
    return asdict(entry) | {"at": entry.at.isoformat(), "result": result, "issue": issue}


def _print_runs(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_document({"runs": rows})
        return
    print_columns(_COLUMNS, [_cells(printable(row)) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    result = f"{row['result']} ({row['issue']})" if row["issue"] else row["result"]
    return [
        row["at"][:19],
        result,
        row["verdict"],
        row["scenario"] or "-",
        "-" if row["seed"] is None else str(row["seed"]),
        row["subject"] or "-",
        _seconds(row["recovery_s"]),
        row["run"],
    ]


def _print_trends(found: Sequence[Entry], *, as_json: bool) -> None:
    from onceproof.past.trend import trends

    rows = [asdict(one) for one in trends(found)]
    if as_json:
        print_document({"scenarios": rows})
        return
    print_columns(
        _TRENDS,
        [
            [
                printable(row["scenario"]) or "-",
                str(row["runs"]),
                f"{row['pass_rate']:.0%}",
                f"{row['flake_rate']:.0%}",
                _seconds(row["recovery_median_s"]),
                _seconds(row["recovery_worst_s"]),
            ]
            for row in rows
        ],
    )


def _seconds(found: float | None) -> str:
    return "-" if found is None else f"{found:.1f} s"
