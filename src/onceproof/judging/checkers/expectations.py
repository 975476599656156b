"""The expectations of the suites of Great Expectations hold, by their recorded results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.documents import count, field, read_object
from onceproof.errors import EvidenceError, unknown
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import ROW_CLASSES, Evidence
from onceproof.verdict import Finding, Grade, downgrade_if_inconsistent, weigh

_WHERE = "validation.json"


@dataclass(frozen=True)
class Held:
    """The result of one expectation: on which rows, and for which anomaly."""

    on: str
    name: str
    success: bool
    error: str
    anomaly: Anomaly | None
    seen: Any

    @classmethod
    def of(cls, on: str, result: Mapping[str, Any]) -> Held:
        """Return one result of validation.json."""
        kwargs = field(result, "kwargs", dict, _WHERE)
        column = kwargs.get("column") or ", ".join(kwargs.get("column_list", ()))
        name = field(result, "type", str, _WHERE)
        return cls(
            on,
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
        return f"In {self.on}, {self.name} does not hold{seen}"


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
    if failures := "; ".join(one.sentence for one in failed if not one.anomaly):
        return Finding("expectations", Grade.FAIL, failures, numbers)
    return downgrade_if_inconsistent(finding, lambda: _check(evidence, held))


def _held(evidence: Evidence) -> tuple[list[Held], list[str]]:
    """Return each result of each suite; the suites must have seen every row."""
    suites = field(read_object(evidence.run.validation), "suites", list, _WHERE)
    found: list[Held] = []
    rows = {"differences": 1, "observed": evidence.differences.observed}
    for suite in suites:
        on, looked = field(suite, "on", str, _WHERE), count(suite, "rows", _WHERE)
        if looked != rows.get(on):
            raise EvidenceError(
                f"expectations were evaluated on {looked:,} rows of {on}, but it has"
                f" {rows.get(on, 0):,}; validate again"
            )
        found += [Held.of(on, result) for result in field(suite, "results", list, _WHERE)]
    for on, suite in evidence.plan.expectations.items():
        wanted = len(field(suite, "expectations", list, f"the plan's suite of {on}"))
        if (there := sum(one.on == on for one in found)) != wanted:
            raise EvidenceError(
                f"{there} expectations of {on} were evaluated, but the plan has {wanted};"
                " validate again"
            )
    return found, [field(suite, "suite", str, _WHERE) for suite in suites]


def _check(evidence: Evidence, held: list[Held]) -> None:
    for one in held:
        if one.error:
            raise EvidenceError(f"{one.name} could not be evaluated: {one.error}")
    looked = {one.anomaly: one.success for one in held if one.on == "differences" and one.anomaly}
    for anomaly in ROW_CLASSES:
        if anomaly not in looked:
            raise EvidenceError(f"no expectation looks for {anomaly} rows; validate again")
        if looked[anomaly] and evidence.differences.counts[anomaly]:
            raise EvidenceError(
                f"an expectation found no {anomaly} row, but the comparison did; validate again"
            )
