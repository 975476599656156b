"""A finding whose own evidence may not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onceproof.errors import EvidenceError
from onceproof.verdict import Finding, Grade


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
