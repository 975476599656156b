"""The rows that readers see at the end are those that the reference expects."""

from __future__ import annotations

from onceproof.doubt import unless
from onceproof.errors import EvidenceError
from onceproof.evidence import Differences, Evidence
from onceproof.guarantee import Anomaly
from onceproof.ledger import count_rows, rows_digest
from onceproof.verdict import Finding, Grade, weigh


def rows(evidence: Evidence) -> Finding:
    """Grade the counts of the comparison, after holding them against the rows themselves.

    Nothing expected proves nothing. Counts that do not add up can still fail, but neither pass nor
    be the anomalies that a control claims.
    """
    found = evidence.differences
    numbers = {"expected": found.expected, "observed": found.observed}
    clean = f"All {found.expected:,} expected rows are there, each as often as it should be"
    finding = weigh("rows", found.counts, evidence.plan.claim.promise, clean, numbers)
    if found.expected == 0 and finding.verdict is not Grade.FAIL:
        return Finding("rows", Grade.UNKNOWN, "No row was expected, so nothing is proved", numbers)
    return unless(finding, lambda: _check(evidence, found))


def _check(evidence: Evidence, found: Differences) -> None:
    """Raise `EvidenceError` where the counts are not those of the rows that are kept."""
    counts = found.counts
    more = counts[Anomaly.DUPLICATED] + counts[Anomaly.UNEXPECTED] - counts[Anomaly.LOST]
    if found.observed - found.expected != more:
        raise EvidenceError(
            f"the differences make {more:+,} rows, and {found.observed:,} of {found.expected:,}"
            " were observed: compare again"
        )
    for name, folder, read in (
        ("expected", evidence.run.expected, found.expected),
        ("observed", evidence.run.observed, found.observed),
    ):
        if (kept := count_rows(folder)) != read:
            raise EvidenceError(
                f"the comparison read {read:,} {name} rows, and {name}/ holds {kept:,}:"
                " compare again"
            )
        if rows_digest(folder) != found.digests.get(name):
            raise EvidenceError(f"{name}/ does not hold the rows that were compared: compare again")
