"""The rows that readers see at the end are those that the reference expects."""

from __future__ import annotations

from onceproof.errors import EvidenceError
from onceproof.evidence import Differences, Evidence
from onceproof.guarantee import Anomaly
from onceproof.ledger import count_rows
from onceproof.verdict import Finding, Grade, weigh


def rows(evidence: Evidence) -> Finding:
    """Grade the counts of the comparison, after holding them against the rows themselves.

    Nothing expected proves nothing. Counts that do not add up can still fail, but never pass.
    """
    found = evidence.differences
    numbers = {"expected": found.expected, "observed": found.observed}
    clean = f"All {found.expected:,} expected rows are there, each as often as it should be"
    finding = weigh("rows", found.counts, evidence.plan.claim.promise, clean, numbers)
    if finding.verdict is Grade.FAIL:
        return finding
    if found.expected == 0:
        return Finding("rows", Grade.UNKNOWN, "No row was expected, so nothing is proved", numbers)
    _check_counts(found)
    for name, folder in (("expected", evidence.run.expected), ("observed", evidence.run.observed)):
        if (kept := count_rows(folder)) != numbers[name]:
            raise EvidenceError(
                f"the comparison read {numbers[name]:,} {name} rows, and {name}/ holds {kept:,}:"
                " compare again"
            )
    return finding


def _check_counts(found: Differences) -> None:
    counts = found.counts
    more = counts[Anomaly.DUPLICATED] + counts[Anomaly.UNEXPECTED] - counts[Anomaly.LOST]
    if found.observed - found.expected != more:
        raise EvidenceError(
            f"the differences make {more:+,} rows, and {found.observed:,} of {found.expected:,}"
            " were observed: compare again"
        )
