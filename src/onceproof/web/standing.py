"""How a judged run stands: as claimed, unknown, or red, and whether that is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from onceproof.past.entry import Entry
from onceproof.past.issues import Issue, result_of
from onceproof.verdict import Grade


class Standing(StrEnum):
    """What a run means to whoever looks in the morning, from the best to the worst."""

    AS_CLAIMED = "as claimed"
    UNKNOWN = "unknown"
    KNOWN_RED = "known red"
    NEW_RED = "new red"

    @property
    def grade(self) -> Grade:
        """The colour and the sign that it is shown with: a control that fails is as claimed."""
        if self is Standing.AS_CLAIMED:
            return Grade.PASS
        return Grade.UNKNOWN if self is Standing.UNKNOWN else Grade.FAIL

    @property
    def rank(self) -> int:
        """Its place from the best, 0, to the worst."""
        return list(Standing).index(self)


def standing(entry: Entry, issues: Sequence[Issue], now: datetime) -> tuple[Standing, Issue | None]:
    """Return how a run stands, and the issue that it is known by.

    A row that says as claimed and contradicts itself, or whose faults did not all land, is unknown.
    """
    word, number = result_of(entry, issues, now)
    found = Standing(word)
    if found is Standing.AS_CLAIMED and not entry.is_proved:
        return Standing.UNKNOWN, None
    return found, next((issue for issue in issues if issue.number == number), None)
