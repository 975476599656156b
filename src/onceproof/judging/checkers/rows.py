"""The rows visible at the end are the rows that the reference expects."""

from __future__ import annotations

from onceproof.documents import field
from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.references.declared import NOT_COMPARED
from onceproof.runs.evidence import Differences, Evidence
from onceproof.runs.ledger import count_rows
from onceproof.verdict import Finding, Grade, downgrade_if_inconsistent, weigh

_WHERE = "the columns that were compared"


def rows(evidence: Evidence) -> Finding:
    """Grade the counts of the comparison, after checking them against the rows themselves.

    Without an expected row nothing is proved. Counts that do not add up, or of a comparison weaker
    than planned, can fail the run, but neither pass it nor satisfy a negative control.
    """
    found = evidence.differences
    numbers = {"expected": found.expected, "observed": found.observed}
    clean = f"All {found.expected:,} expected rows are there, none more often than expected"
    finding = weigh("rows", found.counts, evidence.plan.claim.promise, clean, numbers)
    if found.expected == 0 and finding.verdict is not Grade.FAIL:
        return Finding("rows", Grade.UNKNOWN, "No row was expected, so nothing is proved", numbers)
    return downgrade_if_inconsistent(finding, lambda: _check(evidence, found))


def _check(evidence: Evidence, found: Differences) -> None:
    """Raise `EvidenceError` if the counts are not those of the stored rows."""
    _refuse_weaker(evidence, found)
    counts = found.counts
    more = counts[Anomaly.DUPLICATED] + counts[Anomaly.UNEXPECTED] - counts[Anomaly.LOST]
    if found.observed - found.expected != more:
        raise EvidenceError(
            f"the differences add up to {more:+,} rows, but {found.observed:,} of"
            f" {found.expected:,} were observed; compare again"
        )
    for name, folder, read in (
        ("expected", evidence.run.expected, found.expected),
        ("observed", evidence.run.observed, found.observed),
    ):
        if (kept := count_rows(folder)) != read:
            raise EvidenceError(
                f"the comparison read {read:,} {name} rows, but {name}/ has {kept:,}; compare again"
            )


def _refuse_weaker(evidence: Evidence, found: Differences) -> None:
    """Raise `EvidenceError` unless every column of the reference was compared exactly."""
    planned = evidence.reference
    key = planned.compared_by
    values = planned.columns.keys() - set(key)
    looked = {name: field(found.columns, name, list, _WHERE) for name in ("key", "values")}
    if sorted(looked["key"]) != sorted(key):
        raise EvidenceError(
            f"rows were compared by {_names(looked['key'])}, but the key of the plan's reference is"
            f" {_names(key)}; compare again"
        )
    if sorted(looked["values"]) != sorted(values):
        raise EvidenceError(
            f"the values {_names(looked['values'])} were compared, but the plan's reference has"
            f" {_names(values)}; compare again"
        )
    if left_out := set(field(found.columns, "ignored", list, _WHERE)) - set(NOT_COMPARED):
        raise EvidenceError(f"the comparison ignored {_names(left_out)}; compare again")
    if near := field(found.columns, "tolerance", dict, _WHERE):
        raise EvidenceError(f"the comparison allowed a tolerance on {_names(near)}; compare again")


def _names(names: object) -> str:
    return ", ".join(sorted(map(str, names))) or "nothing"  # type: ignore[call-overload]
