"""Effects: the changes that a strike caused in the job, measured from the engine's own record.

`engine_log` extracts that record from Spark's event log during the run; `windows` assigns failures
to faults, and `measure` reads the extract and counts. Nothing here affects the verdict.
"""

from __future__ import annotations

from enum import StrEnum


class Degree(StrEnum):
    """The degree of a strike's effect, from the least to the greatest."""

    NONE = "none"
    FELT = "felt"
    RETRIED = "retried"
    RESTARTED = "restarted"

    def reaches(self, least: Degree) -> bool:
        """Whether this degree is at least another."""
        order = list(Degree)
        return order.index(self) >= order.index(least)
