"""`onceproof known`: known issues, each with a reason and an expiry."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onceproof.cli.output import AsJson, Runs, print_columns, print_document
from onceproof.errors import RequestError, invalid
from onceproof.judging.report.text import printable
from onceproof.machine.home import runs_folder

if TYPE_CHECKING:
    from onceproof.past.entry import Entry
    from onceproof.past.issues import Issue
    from onceproof.past.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Manage known issues: red runs that are accepted for a time.")
    group.command()(add)
    group.command("list")(list_issues)
    group.command()(remove)
    app.add_typer(group, name="known")


def add(
    run: Annotated[str, typer.Argument(help="A red run: its name in the history, or directory.")],
    reason: Annotated[str, typer.Option(help="Why it may be red.")],
    until: Annotated[str, typer.Option(help="The last day (UTC), as 2026-12-31.")],
    pattern: Annotated[
        str,
        typer.Option(help="A regular expression that each message of a run must match."),
    ] = "",
    at_most: Annotated[
        list[str] | None,
        typer.Option(help="More rows of a class than the run has: CLASS=COUNT; may be repeated."),
    ] = None,
    name: Annotated[str, typer.Option(help="A name beside its number.")] = "",
    runs: Runs = None,
) -> None:
    """Accept the messages and row counts of a red run; with a pattern, messages that match it."""
    from onceproof.past.issues import issue_of

    store = _open(runs)
    _refuse_pattern(pattern)
    entry = _find(store, run)
    now = datetime.now(UTC)
    most = dict(map(_ceiling, at_most or ()))
    found = issue_of(entry, reason, _day(until), now, pattern=pattern, name=name, at_most=most)
    issue = store.add_issue(found)
    typer.echo(f"Known issue {issue.number}: {_describe(issue)}, until {issue.until}.")


def list_issues(runs: Runs = None, as_json: AsJson = False) -> None:
    """List the known issues, expired ones too."""
    from onceproof.past.issues import has_expired

    now = datetime.now(UTC)
    found = [(issue, has_expired(issue, now)) for issue in _open(runs).issues()]
    if as_json:
        issues = [_document(issue, expired=expired) for issue, expired in found]
        print_document({"issues": issues})
        return
    print_columns(
        ("number", "name", "until", "scenario", "shows", "reason"),
        [
            [
                str(issue.number),
                issue.name or "-",
                f"{issue.until}{', expired' if expired else ''}",
                issue.scenario,
                _describe(issue),
                printable(issue.reason),
            ]
            for issue, expired in found
        ],
    )


def remove(
    number: Annotated[int, typer.Argument(help="Its number.")],
    runs: Runs = None,
) -> None:
    """Remove a known issue: runs that show it are red again."""
    if not _open(runs).remove_issue(number):
        raise RequestError(f"unknown issue {number}; `onceproof known list` lists all")
    typer.echo(f"Removed known issue {number}.")


def _open(runs: Path | None) -> Store:
    from onceproof.past.record import find_store, history_of

    folder = runs_folder(runs)
    if store := find_store(folder):
        return store
    raise RequestError(f"verdict history {history_of(folder)} does not exist; run a scenario first")


def _find(store: Store, run: str) -> Entry:
    if found := store.find(run):
        return found
    place = str(Path(run).absolute())
    near = [one for one in store.entries() if one.directory == place]
    if not near:
        raise RequestError(f"unknown run {run}; `onceproof history` lists all")
    return near[0]


def _refuse_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        use = f"a regular expression ({error}), with \\ before special characters"
        raise RequestError(invalid("--pattern", pattern, use)) from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise RequestError(invalid("--until", text, "a day as 2026-12-31")) from None


def _ceiling(text: str) -> tuple[str, int]:
    name, _, most = text.partition("=")
    if not most.isdecimal():
        raise RequestError(invalid("--at-most", text, "CLASS=COUNT, as duplicated=500"))
    return name, int(most)


def _describe(issue: Issue) -> str:
    classes = (f"at most {issue.at_most.get(name, 0):,} {name}" for name in issue.classes)
    parts = [*classes, *(f"checker {name}" for name in issue.checkers)]
    text = ", ".join(parts) or "none of the claimed classes"
    return f"{text}, as {issue.pattern!r}" if issue.pattern else text


def _document(issue: Issue, *, expired: bool) -> dict[str, object]:
    from dataclasses import asdict

    days = {"until": issue.until.isoformat(), "added": issue.added.isoformat()}
    return asdict(issue) | days | {"expired": expired}
