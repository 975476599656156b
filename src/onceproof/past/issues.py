"""Known issues: what a red run shows and people have accepted for a time, with their reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType

from onceproof.errors import RequestError
from onceproof.past.entry import Entry
from onceproof.verdict import Grade

# How a sentence begins that does no more than count the rows of broken classes.
_COUNTS = re.compile(r"[\d,]+ rows? .*: not allowed under ")


@dataclass(frozen=True)
class Issue:
    """One accepted defect of one scenario, until the end of a day (UTC).

    It is of runs that are held to the same as the one that it was made from, and in which no class
    has more rows than it was given. Without a pattern the classes, the checkers and every sentence
    that does not count such rows are exactly those of its run. With one, no class and no checker
    may be new, and every sentence of the run must match.
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
    hold_to: str
    at_most: Mapping[str, int]
    sentences: tuple[str, ...]


def issue_of(
    entry: Entry,
    reason: str,
    until: date,
    now: datetime,
    *,
    pattern: str = "",
    name: str = "",
    at_most: Mapping[str, int] = MappingProxyType({}),
) -> Issue:
    """Return the issue that accepts what this red run shows; the store gives it its number.

    A class may have as many rows as in this run, or as `at_most` says.
    """
    _refuse(entry, reason, until, name, now)
    classes, checkers = what_shows(entry)
    issue = Issue(
        number=0,
        name=name,
        scenario=entry.scenario,
        reason=reason,
        until=until,
        pattern=pattern,
        classes=classes,
        checkers=checkers,
        run=entry.run,
        added=now,
        hold_to=entry.hold_to,
        at_most=_ceilings(entry, at_most),
        sentences=sentences(entry),
    )
    if not matches(issue, entry, now):
        raise RequestError(
            f"--pattern {pattern!r} does not match every sentence of {entry.run}: write one that"
            f" matches {' and '.join(map(repr, sentences(entry)))}"
        )
    return issue


def _refuse(entry: Entry, reason: str, until: date, name: str, now: datetime) -> None:
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


def _ceilings(entry: Entry, given: Mapping[str, int]) -> dict[str, int]:
    found = {name: entry.differences.get(name, 0) for name in sorted(entry.broken)}
    for name, most in given.items():
        if name not in found:
            raise RequestError(
                f"--at-most {name}={most}: {entry.run} shows no such class: write"
                f" {' or '.join(found) or 'none, since it shows no class at all'}"
            )
        if most < found[name]:
            raise RequestError(
                f"--at-most {name}={most} is below what {entry.run} shows: write {found[name]} or"
                " more"
            )
    return found | dict(given)


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
    if entry.as_claimed or entry.is_unknown:
        return False
    if (entry.scenario, entry.hold_to) != (issue.scenario, issue.hold_to):
        return False
    classes, checkers = what_shows(entry)
    if any(entry.differences.get(name, 0) > issue.at_most.get(name, 0) for name in classes):
        return False
    if not issue.pattern:
        said = _beside_counts(sentences(entry)) == _beside_counts(issue.sentences)
        return said and (classes, checkers) == (issue.classes, issue.checkers)
    said = all(re.search(issue.pattern, sentence) for sentence in sentences(entry))
    return said and set(classes) <= set(issue.classes) and set(checkers) <= set(issue.checkers)


def _beside_counts(said: Iterable[str]) -> set[str]:
    """Return what no ceiling speaks of: which column, for instance, or how the job ended."""
    return {sentence for sentence in said if not _COUNTS.match(sentence)}


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
