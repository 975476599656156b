"""Known issues: what a red run shows and people have accepted for a time, with their reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from onceproof.errors import RequestError
from onceproof.verdict import Grade
from onceproof.verdicts.entry import Entry


@dataclass(frozen=True)
class Issue:
    """One accepted defect of one scenario, until the end of a day (UTC).

    Without a pattern it is exactly the classes and checkers of the run that it was made from. With
    one, no class may be new, and every sentence of the run must match.
    """

    number: int
    name: str
    scenario: str
    reason: str
    until: date
    pattern: str
    classes: tuple[str, ...]
    checkers: tuple[str, ...]
    run: str
    added: datetime


def issue_of(
    entry: Entry, reason: str, until: date, now: datetime, *, pattern: str = "", name: str = ""
) -> Issue:
    """Return the issue that accepts what this red run shows; the store gives it its number."""
    if entry.is_unknown:
        raise RequestError(
            f"{entry.run} is not known in all its parts ({', '.join(entry.findings) or 'no plan'}):"
            " what nobody knows cannot be accepted, so run it again"
        )
    if entry.as_claimed:
        raise RequestError(f"{entry.run} is as claimed: only a red run has something to accept")
    if until < now.astimezone(UTC).date():
        raise RequestError(f"--until {until} is past already: write a day to come")
    if not reason.strip():
        raise RequestError("--reason is empty: write why this may be red")
    if name.isdigit():
        raise RequestError(f"--name {name} reads as a number: write a word")
    issue = Issue(
        0, name, entry.scenario, reason, until, pattern, *what_shows(entry), entry.run, now
    )
    if not matches(issue, entry, now):
        raise RequestError(
            f"--pattern {pattern!r} does not match every sentence of {entry.run}: write one that"
            f" matches {' and '.join(map(repr, sentences(entry)))}"
        )
    return issue


def what_shows(entry: Entry) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the classes that broke a run's promise, and the checkers that failed, sorted."""
    failed = (name for name, grade in entry.findings.items() if grade == Grade.FAIL)
    return tuple(sorted(entry.broken)), tuple(sorted(failed))


def sentences(entry: Entry) -> tuple[str, ...]:
    """Return the sentences of what is wrong with a run.

    A control that passed says first what it missed; the sentences behind it are of what passed.
    """
    return entry.reasons[:1] if entry.verdict == Grade.PASS else entry.reasons


def matches(issue: Issue, entry: Entry, now: datetime) -> bool:
    """Whether a run shows this issue and nothing else, and the issue has not expired."""
    return not has_expired(issue, now) and shows(issue, entry)


def shows(issue: Issue, entry: Entry) -> bool:
    """Whether a red run shows this issue and nothing else, expired or not.

    A run in which anything is unknown never does: a fault that did not strike proves no issue.
    """
    if entry.as_claimed or entry.is_unknown or entry.scenario != issue.scenario:
        return False
    classes, checkers = what_shows(entry)
    if not issue.pattern:
        return (classes, checkers) == (issue.classes, issue.checkers)
    said = all(re.search(issue.pattern, sentence) for sentence in sentences(entry))
    return said and set(classes) <= set(issue.classes)


def has_expired(issue: Issue, now: datetime) -> bool:
    """Whether its last day is over."""
    return now.astimezone(UTC).date() > issue.until


def result_of(entry: Entry, issues: Iterable[Issue], now: datetime) -> tuple[str, int | None]:
    """Return what a run is to people (as claimed, unknown, known red, new red), and the issue."""
    if entry.verdict == Grade.UNKNOWN:
        return "unknown", None
    if entry.as_claimed:
        return "as claimed", None
    known = next((issue for issue in issues if matches(issue, entry, now)), None)
    return ("known red", known.number) if known else ("new red", None)
