"""Effects: what a strike changed in the job, measured from the engine's own record.

`engine_log` extracts that record from Spark's event log while the run goes on; `windows` says which
fault explains what, and `measure` reads the extract and counts. Nothing here judges.
"""

from __future__ import annotations

from enum import StrEnum


class Degree(StrEnum):
    """How much a strike changed, from the least to the most."""

    NONE = "none"
    FELT = "felt"
    RETRIED = "retried"
    RESTARTED = "restarted"

    def reaches(self, least: Degree) -> bool:
        """Whether this degree is at least another."""
        order = list(Degree)
        return order.index(self) >= order.index(least)
