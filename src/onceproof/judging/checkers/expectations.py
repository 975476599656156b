"""The expectations of the suites of Great Expectations hold, by their recorded results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.documents import count, field, read_object
from onceproof.errors import EvidenceError, unknown
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import ROW_CLASSES, Evidence
from onceproof.runs.suites import ERROR, INPUT, suites_in
from onceproof.verdict import Finding, Grade, downgrade_if_inconsistent, weigh

_WHERE = "validation.json"


@dataclass(frozen=True)
class Held:
    """The result of one expectation: of which suite, on which rows, and for which anomaly."""

    on: str
    suite: str
    name: str
    success: bool
    error: str
    anomaly: Anomaly | None
    seen: Any

    @classmethod
    def of(cls, on: str, suite: str, result: Mapping[str, Any]) -> Held:
        """Return one result of validation.json."""
        kwargs = field(result, "kwargs", dict, _WHERE)
        column = kwargs.get("column") or ", ".join(kwargs.get("column_list", ()))
        name = field(result, "type", str, _WHERE)
        return cls(
            on,
            suite,
            f"{name} of {column}" if column else name,
            field(result, "success", bool, _WHERE),
            field(result, "error", str, _WHERE),
            _anomaly(result.get("anomaly")),
            result.get("samples") or result.get("observed"),
        )

    @property
    def sentence(self) -> str:
        """The failure as a sentence."""
        seen = "" if self.seen is None else f": {self.seen}"
        return f"In {self.on}, {self.name} (suite {self.suite}) does not hold{seen}"


def _anomaly(name: Any) -> Anomaly | None:
    try:
        return Anomaly(name) if name else None
    except ValueError:
        raise EvidenceError(f"{_WHERE}: {unknown('anomaly', name, Anomaly)}") from None


def expectations(evidence: Evidence) -> Finding:
    """Return FAIL for an expectation that does not hold, UNKNOWN for one that was not evaluated.

    An expectation for an anomaly fails only if the promise forbids that anomaly; its number of rows
    comes from the comparison. A failure of any other expectation satisfies no negative control.
    """
    held, suites = _held(evidence)
    failed = [one for one in held if not one.success and not one.error]
    counts = dict.fromkeys(ROW_CLASSES, 0)
    for one in failed:
        if one.anomaly:
            counts[one.anomaly] = max(1, evidence.differences.counts.get(one.anomaly, 0))
    numbers = {"held": len(held), "failed": len(failed)}
    clean = f"All {len(held)} expectations hold, in the suites {', '.join(suites)}"
    finding = weigh("expectations", counts, evidence.plan.claim.promise, clean, numbers)
    if failures := [one.sentence for one in failed if not one.anomaly]:
        reason = "; ".join([*failures, *_not_evaluated(evidence, held)])
        return Finding("expectations", Grade.FAIL, reason, numbers)
    return downgrade_if_inconsistent(finding, lambda: _check(evidence, held))


def _held(evidence: Evidence) -> tuple[list[Held], list[str]]:
    """Return each result of each suite; the suites must have seen every row."""
    suites = field(read_object(evidence.run.validation), "suites", list, _WHERE)
    found: list[Held] = []
    for suite in suites:
        on, looked = field(suite, "on", str, _WHERE), count(suite, "rows", _WHERE)
        if looked != (there := _rows_of(evidence, on)):
            raise EvidenceError(
                f"expectations were evaluated on {looked:,} rows of {on}, but it has"
                f" {there:,}; validate again"
            )
        name = field(suite, "suite", str, _WHERE)
        found += [Held.of(on, name, result) for result in field(suite, "results", list, _WHERE)]
    wanted: Counter[str] = Counter()
    for on, suite in suites_in(evidence.plan.expectations):
        wanted[on] += len(field(suite, "expectations", list, f"the plan's suite of {on}"))
    evaluated = Counter(one.on for one in found)
    for on, number in wanted.items():
        if evaluated[on] != number:
            raise EvidenceError(
                f"{evaluated[on]} expectations of {on} were evaluated, but the plan has {number};"
                " validate again"
            )
    return found, [field(suite, "suite", str, _WHERE) for suite in suites]


def _rows_of(evidence: Evidence, on: str) -> int:
    if on == INPUT:
        return evidence.ledger.acknowledged - evidence.ledger.sentinels
    return {"differences": 1}.get(on, evidence.differences.observed)


def _not_evaluated(evidence: Evidence, held: list[Held]) -> list[str]:
    """Return what could not be evaluated: suites that were not built, and expectations."""
    return [
        f"the suite {suite['name']} could not be built: {suite[ERROR]}"
        for _, suite in suites_in(evidence.plan.expectations)
        if ERROR in suite
    ] + [
        f"in {one.on}, {one.name} (suite {one.suite}) could not be evaluated: {one.error}"
        for one in held
        if one.error
    ]


def _check(evidence: Evidence, held: list[Held]) -> None:
    if reasons := _not_evaluated(evidence, held):
        raise EvidenceError("; ".join(reasons))
    looked = {one.anomaly: one.success for one in held if one.on == "differences" and one.anomaly}
    for anomaly in ROW_CLASSES:
        if anomaly not in looked:
            raise EvidenceError(f"no expectation looks for {anomaly} rows; validate again")
        if looked[anomaly] and evidence.differences.counts[anomaly]:
            raise EvidenceError(
                f"an expectation found no {anomaly} row, but the comparison did; validate again"
            )
