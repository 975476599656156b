"""Known issues: the findings of a red run that were accepted for a time, with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType

from onceproof.errors import RequestError
from onceproof.past.entry import Entry
from onceproof.verdict import Grade

# The beginning of a sentence that only counts the rows of broken classes.
_COUNTS = re.compile(r"[\d,]+ rows? .*: not allowed under ")


@dataclass(frozen=True)
class Issue:
    """An accepted defect of a scenario, until the end of a day (UTC).

    It matches runs that are held to the same guarantee as its own run, with at most its number of
    rows of each class. Without a pattern, the classes, the checkers and every sentence that does
    not count rows must be those of its run. With a pattern, no class and no checker may be new, and
    every sentence of the run must match the pattern.
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
    """Return the issue that accepts the findings of this red run; the store assigns its number.

    A class may have as many rows as in this run, or as in `at_most`.
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
            f"--pattern {pattern!r} does not match every sentence of {entry.run}; write one that"
            f" matches {' and '.join(map(repr, sentences(entry)))}"
        )
    return issue


def _refuse(entry: Entry, reason: str, until: date, name: str, now: datetime) -> None:
    if entry.is_unknown:
        raise RequestError(
            f"{entry.run} is UNKNOWN in part ({', '.join(entry.findings) or 'no plan'}) and cannot"
            " be accepted; run it again"
        )
    if entry.as_claimed:
        raise RequestError(f"{entry.run} is as claimed; name a red run")
    if until < now.astimezone(UTC).date():
        raise RequestError(f"--until {until} is in the past; write a future day")
    if not reason.strip():
        raise RequestError("--reason is empty; write why this run may be red")
    if name.isdigit():
        raise RequestError(f"--name {name} is a number; write a word")


def _ceilings(entry: Entry, given: Mapping[str, int]) -> dict[str, int]:
    found = {name: entry.differences.get(name, 0) for name in sorted(entry.broken)}
    for name, most in given.items():
        if name not in found:
            raise RequestError(
                f"--at-most {name}={most}: {entry.run} has no such anomaly; "
                + (f"write {' or '.join(found)}" if found else "leave --at-most out")
            )
        if most < found[name]:
            raise RequestError(
                f"--at-most {name}={most} is less than {entry.run} has; write {found[name]} or more"
            )
    return found | dict(given)


def what_shows(entry: Entry) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the classes that broke a run's promise, and the checkers that failed, sorted."""
    failed = (name for name, grade in entry.findings.items() if grade == Grade.FAIL)
    return tuple(sorted(entry.broken)), tuple(sorted(failed))


def sentences(entry: Entry) -> tuple[str, ...]:
    """Return the sentences about what is wrong with a run.

    The first reason of a control that passed is the missing anomaly; the others are of checks that
    passed.
    """
    return entry.reasons[:1] if entry.verdict == Grade.PASS else entry.reasons


def matches(issue: Issue, entry: Entry, now: datetime) -> bool:
    """Whether a run shows this issue and nothing else, and the issue has not expired."""
    return not has_expired(issue, now) and shows(issue, entry)


def shows(issue: Issue, entry: Entry) -> bool:
    """Whether a red run shows this issue and nothing else, expired or not.

    A run with an UNKNOWN finding never does: a fault that did not strike proves no issue.
    """
    if entry.as_claimed or entry.is_unknown:
        return False
    if (entry.scenario, entry.hold_to) != (issue.scenario, issue.hold_to):
        return False
    classes, checkers = what_shows(entry)
    if any(entry.differences.get(name, 0) > issue.at_most.get(name, 0) for name in classes):
        return False
    if not issue.pattern:
        is_same = _without_counts(sentences(entry)) == _without_counts(issue.sentences)
        return is_same and (classes, checkers) == (issue.classes, issue.checkers)
    is_matched = all(re.search(issue.pattern, sentence) for sentence in sentences(entry))
    return (
        is_matched and set(classes) <= set(issue.classes) and set(checkers) <= set(issue.checkers)
    )


def _without_counts(sentences: Iterable[str]) -> set[str]:
    return {sentence for sentence in sentences if not _COUNTS.match(sentence)}


def has_expired(issue: Issue, now: datetime) -> bool:
    """Whether the last day of the issue is over."""
    return now.astimezone(UTC).date() > issue.until


def result_of(entry: Entry, issues: Iterable[Issue], now: datetime) -> tuple[str, int | None]:
    """Return a run's result (as claimed, unknown, known red or new red), and its known issue."""
    if entry.verdict == Grade.UNKNOWN:
        return "unknown", None
    if entry.as_claimed:
        return "as claimed", None
    issue = next((issue for issue in issues if matches(issue, entry, now)), None)
    return ("known red", issue.number) if issue else ("new red", None)
