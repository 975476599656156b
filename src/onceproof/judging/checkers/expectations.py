"""What people expect of the rows holds: the suites of Great Expectations, as they were held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.documents import count, field, read_object
from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.evidence import ROW_CLASSES, Evidence
from onceproof.verdict import Finding, Grade, unless, weigh

_WHERE = "validation.json"


@dataclass(frozen=True)
class Held:
    """One expectation: of which rows, what became of it, and the anomaly that it looks for."""

    on: str
    name: str
    success: bool
    error: str
    anomaly: Anomaly | None
    seen: Any

    @classmethod
    def of(cls, on: str, told: Mapping[str, Any]) -> Held:
        """Return what validation.json tells of one."""
        kwargs = field(told, "kwargs", dict, _WHERE)
        column = kwargs.get("column") or ", ".join(kwargs.get("column_list", ()))
        name = field(told, "type", str, _WHERE)
        return cls(
            on,
            f"{name} of {column}" if column else name,
            field(told, "success", bool, _WHERE),
            field(told, "error", str, _WHERE),
            _anomaly(told.get("anomaly")),
            told.get("samples") or told.get("observed"),
        )

    @property
    def sentence(self) -> str:
        """What does not hold, for people."""
        seen = "" if self.seen is None else f": {self.seen}"
        return f"In {self.on}, {self.name} does not hold{seen}"


def _anomaly(name: Any) -> Anomaly | None:
    try:
        return Anomaly(name) if name else None
    except ValueError:
        known = ", ".join(Anomaly)
        raise EvidenceError(
            f"{_WHERE} names an unknown anomaly {name!r}; the known ones are {known}"
        ) from None


def expectations(evidence: Evidence) -> Finding:
    """Say FAIL for an expectation that does not hold, UNKNOWN for one that could not be held.

    One that looks for an anomaly fails only where the promise forbids that. How many rows there are
    of it is for the comparison to say. One that looks for something else and fails is nothing that
    a control has claimed.
    """
    held, suites = _held(evidence)
    failed = [one for one in held if not one.success and not one.error]
    counts = dict.fromkeys(ROW_CLASSES, 0)
    for one in failed:
        if one.anomaly:
            counts[one.anomaly] = max(1, evidence.differences.counts.get(one.anomaly, 0))
    numbers = {"held": len(held), "failed": len(failed)}
    clean = f"{len(held)} expectations hold, of the suites {', '.join(suites)}"
    finding = weigh("expectations", counts, evidence.plan.claim.promise, clean, numbers)
    if said := "; ".join(one.sentence for one in failed if not one.anomaly):
        return Finding("expectations", Grade.FAIL, said, numbers)
    return unless(finding, lambda: _check(evidence, held))


def _held(evidence: Evidence) -> tuple[list[Held], list[str]]:
    """Return each expectation of each suite; every row must have been there to be looked at."""
    suites = field(read_object(evidence.run.validation), "suites", list, _WHERE)
    found: list[Held] = []
    rows = {"differences": 1, "observed": evidence.differences.observed}
    for suite in suites:
        on, looked = field(suite, "on", str, _WHERE), count(suite, "rows", _WHERE)
        if looked != rows.get(on):
            raise EvidenceError(
                f"expectations were held against {looked:,} rows of {on}, and there are"
                f" {rows.get(on, 0):,}: validate again"
            )
        found += [Held.of(on, told) for told in field(suite, "results", list, _WHERE)]
    for on, suite in evidence.plan.expectations.items():
        wanted = len(field(suite, "expectations", list, f"the plan's suite of {on}"))
        if (there := sum(one.on == on for one in found)) != wanted:
            raise EvidenceError(
                f"the plan has {wanted} expectations of {on}, and {there} were held: validate again"
            )
    return found, [field(suite, "suite", str, _WHERE) for suite in suites]


def _check(evidence: Evidence, held: list[Held]) -> None:
    """Raise `EvidenceError` where expectations pass that did not look."""
    for one in held:
        if one.error:
            raise EvidenceError(f"{one.name} could not be held: {one.error}")
    looked = {one.anomaly: one.success for one in held if one.on == "differences" and one.anomaly}
    for anomaly in ROW_CLASSES:
        if anomaly not in looked:
            raise EvidenceError(f"nobody expects that no row is {anomaly}: validate again")
        if looked[anomaly] and evidence.differences.counts[anomaly]:
            raise EvidenceError(f"no row is said to be {anomaly}, and some are: validate again")
