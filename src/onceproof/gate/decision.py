"""A decision of a gate as data: its reasons, each with what it does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a reason does: the first two close the gate."""

    FAILURE = "failure"
    LACK = "lack"
    ACCEPTED = "accepted"
    MET = "met"


@dataclass(frozen=True)
class Reason:
    """A sentence about one scenario, and the run that shows it; both empty where there is none."""

    kind: Kind
    scenario: str
    reason: str
    run: str = ""


@dataclass(frozen=True)
class Decision:
    """Whether the gate is open for a version, the exit code, and why."""

    open: bool
    exit: int
    version: str
    reasons: tuple[Reason, ...]
