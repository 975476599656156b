"""Findings and the verdict that they make: PASS < UNKNOWN < FAIL, and the worst decides.

Nothing here looks at evidence. What is missing is never read as good: no finding is UNKNOWN, and a
verdict without a claim is never as claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from onceproof.errors import EvidenceError, RequestError
from onceproof.guarantee import Anomaly, Promise

EXIT_AS_CLAIMED, EXIT_NOT_AS_CLAIMED, EXIT_UNKNOWN, EXIT_WRONG_REQUEST = range(4)


class Grade(StrEnum):
    """What a finding or a verdict says, from the best to the worst."""

    PASS = "PASS"  # noqa: S105
    UNKNOWN = "UNKNOWN"
    FAIL = "FAIL"


class Status(StrEnum):
    """How a finding is shown, in the order of reports."""

    FAILED = "failed"
    UNKNOWN = "unknown"
    ALLOWED = "allowed"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"


def worst(grades: Iterable[Grade]) -> Grade:
    """Return the worst of the grades; of none at all, UNKNOWN."""
    return max(grades, key=list(Grade).index, default=Grade.UNKNOWN)


@dataclass(frozen=True)
class Finding:
    """What one checker found: a grade, the reason as a sentence, and the numbers behind it.

    `anomalies` holds every class that the checker counted, legal or not. `traceback` is set only
    where the checker itself raised. One that does not apply had nothing to look at.
    """

    checker: str
    verdict: Grade
    reason: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    anomalies: Mapping[Anomaly, int] = field(default_factory=dict)
    traceback: str = ""
    applies: bool = True

    @property
    def status(self) -> Status:
        """What reports show: a grade of PASS is one of three."""
        if self.verdict is Grade.FAIL:
            return Status.FAILED
        if self.verdict is Grade.UNKNOWN:
            return Status.UNKNOWN
        if not self.applies:
            return Status.NOT_APPLICABLE
        return Status.ALLOWED if any(self.anomalies.values()) else Status.PASSED


def not_applicable(checker: str, reason: str) -> Finding:
    """Return the finding of a checker that has nothing to look at in this run."""
    return Finding(checker, Grade.PASS, reason, applies=False)


def unless(finding: Finding, check: Callable[[], None]) -> Finding:
    """Return a finding if its evidence holds; else raise, or say UNKNOWN in the place of FAIL.

    What was counted then still fails the run, and no control is as claimed by it.
    """
    try:
        check()
    except EvidenceError as error:
        if finding.verdict is not Grade.FAIL:
            raise
        return replace(finding, verdict=Grade.UNKNOWN, reason=f"{finding.reason}; but {error}")
    return finding


def weigh(
    checker: str,
    counts: Mapping[Anomaly, int],
    promise: Promise,
    clean: str,
    numbers: Mapping[str, Any] | None = None,
) -> Finding:
    """Return the finding for counted anomalies: FAIL if one of them breaks the promise.

    `clean` is the sentence for counts that are all zero. Legal anomalies pass, and are named.
    """
    seen = {anomaly: count for anomaly, count in counts.items() if count}
    illegal = {anomaly: count for anomaly, count in seen.items() if not promise.allows(anomaly)}
    if illegal:
        reason = f"{_rows(illegal)}: not allowed under {promise}"
    elif seen:
        reason = f"{_rows(seen)}; allowed: {_why_allowed(seen, promise)}"
    else:
        reason = clean
    grade = Grade.FAIL if illegal else Grade.PASS
    return Finding(checker, grade, reason, dict(numbers or {}), dict(counts))


_SEEN = {
    Anomaly.TORN: "became visible before the rest of their batch",
    Anomaly.REORDERED: "became visible after a newer row of their key",
    Anomaly.REGRESSED: "replaced a newer value of their key",
    Anomaly.UNCOMMITTED_READ: "read uncommitted",
    Anomaly.ZOMBIE: "written by a zombie",
}
_NOT_PROMISED = {Anomaly.TORN: "atomic batches", Anomaly.REORDERED: "order"}


def _why_allowed(counts: Mapping[Anomaly, int], promise: Promise) -> str:
    missing = [_NOT_PROMISED[one] for one in counts if one in _NOT_PROMISED]
    if len(missing) < len(counts):
        return f"the run is held to {promise}"
    return f"this sink does not promise {' or '.join(missing)}"


def _rows(counts: Mapping[Anomaly, int]) -> str:
    said = [
        f"{count:,} {'row' if count == 1 else 'rows'} {_SEEN.get(anomaly, anomaly)}"
        for anomaly, count in counts.items()
    ]
    return " and ".join(filter(None, [", ".join(said[:-1]), said[-1]]))


@dataclass(frozen=True)
class Claim:
    """The verdict that a scenario must get, and with FAIL, the anomalies that must appear.

    A claim of FAIL is a negative control: it holds a sink to more than it declares, to prove that
    the judge would see it.
    """

    promise: Promise
    verdict: Grade
    anomalies: frozenset[Anomaly] = frozenset()

    def __post_init__(self) -> None:
        """Refuse a claim that no run could ever meet."""
        if self.verdict is Grade.UNKNOWN:
            raise RequestError("claims: UNKNOWN can be no run's aim: write PASS or FAIL")
        if self.verdict is Grade.PASS and self.anomalies:
            raise RequestError(
                f"claims: PASS names the anomalies {_names(self.anomalies)}, and none may appear:"
                " write claims: FAIL, or no anomalies"
            )
        if self.verdict is Grade.FAIL and not self.anomalies:
            raise RequestError("claims: FAIL names no anomalies: write those that must appear")
        if legal := {anomaly for anomaly in self.anomalies if self.promise.allows(anomaly)}:
            raise RequestError(
                f"anomalies: {_names(legal)} cannot fail a run that is held to"
                f" {self.promise.guarantee}: write a stronger hold_to, or leave it out"
            )


@dataclass(frozen=True)
class Verdict:
    """All findings of a run, against what was claimed; `claim` is None where no plan tells it."""

    findings: tuple[Finding, ...]
    claim: Claim | None

    @property
    def grade(self) -> Grade:
        """PASS, UNKNOWN or FAIL: the worst finding's."""
        grades = [finding.verdict for finding in self.findings]
        if self.claim and self._illegal(self.claim.promise):
            grades.append(Grade.FAIL)  # whatever grade the checker that counted it gave
        return worst(grades)

    @property
    def differences(self) -> dict[Anomaly, int]:
        """How many rows of each class, zero included.

        Two checkers that counted one class looked at the same rows, so the larger count stands.
        """
        return {
            anomaly: max((f.anomalies.get(anomaly, 0) for f in self.findings), default=0)
            for anomaly in Anomaly
        }

    @property
    def counted(self) -> set[Anomaly]:
        """The classes that some checker counted; a zero of any other is not known to be one."""
        return {anomaly for finding in self.findings for anomaly in finding.anomalies}

    @property
    def exit_code(self) -> int:
        """0 as claimed, 1 not as claimed, 2 unknown.

        A negative control is as claimed only if exactly the named anomalies broke its promise and
        nothing is unknown: neither a fault that may not have landed nor a checker that raised.
        """
        if self.claim is None or self.grade is Grade.UNKNOWN:
            return EXIT_UNKNOWN
        if self.claim.verdict is Grade.PASS or self.grade is Grade.PASS:
            same = self.grade is self.claim.verdict
            return EXIT_AS_CLAIMED if same else EXIT_NOT_AS_CLAIMED
        return self._exit_of_control(self.claim)

    def _exit_of_control(self, claim: Claim) -> int:
        illegal = self._illegal(claim.promise)
        failed = [finding for finding in self.findings if finding.verdict is Grade.FAIL]
        if illegal - claim.anomalies or not all(_broken(f, claim.promise) for f in failed):
            return EXIT_NOT_AS_CLAIMED
        if any(finding.verdict is Grade.UNKNOWN for finding in self.findings):
            return EXIT_UNKNOWN
        return EXIT_NOT_AS_CLAIMED if claim.anomalies - illegal else EXIT_AS_CLAIMED

    def _illegal(self, promise: Promise) -> set[Anomaly]:
        return {anomaly for finding in self.findings for anomaly in _broken(finding, promise)}

    @property
    def as_claimed(self) -> bool:
        """Whether the run proved what its scenario claims."""
        return self.exit_code == EXIT_AS_CLAIMED

    @property
    def reasons(self) -> tuple[str, ...]:
        """The sentences behind the grade, the worst first and none twice.

        A control that is not as claimed also says what it missed or showed unasked.
        """
        grades = [Grade.FAIL, Grade.UNKNOWN] if self.grade is not Grade.PASS else [Grade.PASS]
        said = [f.reason for grade in grades for f in self.findings if f.verdict is grade]
        nothing = "No checker found anything, so nothing is known"
        return tuple(dict.fromkeys([*self._about_the_claim(), *said])) or (nothing,)

    def _about_the_claim(self) -> list[str]:
        if self.claim is None or self.claim.verdict is Grade.PASS:
            return []
        illegal = self._illegal(self.claim.promise)
        unnamed, missing = illegal - self.claim.anomalies, self.claim.anomalies - illegal
        return [
            *([f"Claimed to appear, but not seen: {_names(missing)}"] if missing else []),
            *([f"Seen, but not among those claimed: {_names(unnamed)}"] if unnamed else []),
        ]


def _broken(finding: Finding, promise: Promise) -> set[Anomaly]:
    return {a for a, count in finding.anomalies.items() if count and not promise.allows(a)}


def _names(anomalies: Iterable[Anomaly]) -> str:
    return ", ".join(sorted(anomalies))
