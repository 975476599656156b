"""Findings and the verdict that follows from them: PASS < UNKNOWN < FAIL, and the worst decides.

Nothing here reads evidence. Missing input never counts as good: without findings the verdict is
UNKNOWN, and without a claim it is never as claimed.
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
    """The result of a finding or of a verdict, from the best to the worst."""

    PASS = "PASS"  # noqa: S105
    UNKNOWN = "UNKNOWN"
    FAIL = "FAIL"


class Status(StrEnum):
    """How a finding is shown, in the order of every report.

    First come the findings that decided the verdict, then what was checked, then what was allowed
    or did not apply.
    """

    FAILED = "failed"
    UNKNOWN = "unknown"
    PASSED = "passed"
    ALLOWED = "allowed"
    NOT_APPLICABLE = "not applicable"


def report_order(status: str) -> int:
    """Return the place of a status in reports."""
    return list(Status).index(Status(status))


def worst(grades: Iterable[Grade]) -> Grade:
    """Return the worst of the grades; UNKNOWN without any."""
    return max(grades, key=list(Grade).index, default=Grade.UNKNOWN)


@dataclass(frozen=True)
class Finding:
    """The result of one checker: a grade, the reason as a sentence, and the numbers behind it.

    `anomalies` has the count of each class that the checker counts, legal or not. `traceback` is
    set only if the checker itself raised. `applies` is False if there was nothing to check,
    `is_allowed` True if the scenario permits what was found. `about` names outputs, in a run with
    several, where the finding is not about all of them.
    """

    checker: str
    verdict: Grade
    reason: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    anomalies: Mapping[Anomaly, int] = field(default_factory=dict)
    traceback: str = ""
    applies: bool = True
    is_allowed: bool = False
    about: str = ""

    @property
    def status(self) -> Status:
        """The status in reports: PASS is shown as passed, allowed or not applicable."""
        if self.verdict is Grade.FAIL:
            return Status.FAILED
        if self.verdict is Grade.UNKNOWN:
            return Status.UNKNOWN
        if not self.applies:
            return Status.NOT_APPLICABLE
        is_allowed = self.is_allowed or any(self.anomalies.values())
        return Status.ALLOWED if is_allowed else Status.PASSED


def not_applicable(checker: str, reason: str, numbers: Mapping[str, Any] | None = None) -> Finding:
    """Return the finding of a checker that has nothing to check in this run."""
    return Finding(checker, Grade.PASS, reason, dict(numbers or {}), applies=False)


def downgrade_if_inconsistent(finding: Finding, check: Callable[[], None]) -> Finding:
    """Return the finding if `check` passes; if it raises, re-raise, or turn FAIL into UNKNOWN.

    The anomalies of a downgraded finding still fail the run, but never satisfy a negative control.
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

    `clean` is the reason if all counts are zero. The reason names legal anomalies too.
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
    parts = [
        f"{count:,} {'row' if count == 1 else 'rows'} {_SEEN.get(anomaly, anomaly)}"
        for anomaly, count in counts.items()
    ]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


@dataclass(frozen=True)
class Claim:
    """The verdict that a scenario must get and, with FAIL, the anomalies that must appear.

    A claim of FAIL is a negative control: it holds a sink to more than the sink declares, to prove
    that the judge detects the difference.
    """

    promise: Promise
    verdict: Grade
    anomalies: frozenset[Anomaly] = frozenset()

    def __post_init__(self) -> None:
        """Refuse a claim that no run can meet."""
        if self.verdict is Grade.UNKNOWN:
            raise RequestError("claims: UNKNOWN cannot be claimed; write PASS or FAIL")
        if self.verdict is Grade.PASS and self.anomalies:
            raise RequestError(
                f"claims: PASS forbids the anomalies {_names(self.anomalies)}; write claims: FAIL,"
                " or no anomalies"
            )
        if self.verdict is Grade.FAIL and not self.anomalies:
            raise RequestError("claims: FAIL names no anomalies; write those that must appear")
        if legal := {anomaly for anomaly in self.anomalies if self.promise.allows(anomaly)}:
            raise RequestError(
                f"anomalies: {_names(legal)} cannot fail a run held to {self.promise.guarantee};"
                " write a stronger hold_to, or leave the anomaly out"
            )


@dataclass(frozen=True)
class Verdict:
    """All findings of a run, and its claim; `claim` is None if the plan cannot be read."""

    findings: tuple[Finding, ...]
    claim: Claim | None

    @property
    def grade(self) -> Grade:
        """The grade of the worst finding."""
        grades = [finding.verdict for finding in self.findings]
        if self.claim and self._illegal(self.claim.promise):
            grades.append(Grade.FAIL)  # even if the checker that counted it passed
        return worst(grades)

    @property
    def differences(self) -> dict[Anomaly, int]:
        """The number of rows of each class, zero included.

        Two checkers that count one class look at the same rows, so the larger count is taken.
        """
        return {
            anomaly: max((f.anomalies.get(anomaly, 0) for f in self.findings), default=0)
            for anomaly in Anomaly
        }

    @property
    def counted(self) -> set[Anomaly]:
        """The classes that a checker counted; of any other class, zero means unknown."""
        return {anomaly for finding in self.findings for anomaly in finding.anomalies}

    @property
    def exit_code(self) -> int:
        """0 as claimed, 1 not as claimed, 2 unknown.

        A negative control is as claimed only if exactly the named anomalies broke its promise and
        no finding is UNKNOWN: every fault landed and no checker raised.
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
        """The sentences behind the grade, without duplicates, in the order of `Status`.

        Of a verdict that is not PASS they are those of the findings that decided it. A negative
        control that is not as claimed first says which anomalies are missing or unexpected.
        """
        is_pass = self.grade is Grade.PASS
        mine = [one for one in self.findings if (one.verdict is Grade.PASS) is is_pass]
        reasons = [one.reason for one in sorted(mine, key=lambda one: report_order(one.status))]
        nothing = "No checker has run, so nothing is known"
        return tuple(dict.fromkeys([*self._about_the_claim(), *reasons])) or (nothing,)

    def _about_the_claim(self) -> list[str]:
        if self.claim is None or self.claim.verdict is Grade.PASS:
            return []
        illegal = self._illegal(self.claim.promise)
        unclaimed, unseen = illegal - self.claim.anomalies, self.claim.anomalies - illegal
        return [
            *([f"Claimed to appear, but not seen: {_names(unseen)}"] if unseen else []),
            *([f"Seen, but not among those claimed: {_names(unclaimed)}"] if unclaimed else []),
        ]


def _broken(finding: Finding, promise: Promise) -> set[Anomaly]:
    return {a for a, count in finding.anomalies.items() if count and not promise.allows(a)}


def _names(anomalies: Iterable[Anomaly]) -> str:
    return ", ".join(sorted(anomalies))
