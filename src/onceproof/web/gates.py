"""The gate's current state for each version that was run, as by `onceproof gate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.gates.decide import Decision, Kind, decide
from onceproof.gates.policy import read_policy
from onceproof.gates.verification import other_of, trouble_of
from onceproof.past.entry import Entry
from onceproof.past.issues import Issue
from onceproof.verdict import EXIT_AS_CLAIMED, EXIT_NOT_AS_CLAIMED, Grade

POLICY = "ONCEPROOF_POLICY"


@dataclass(frozen=True)
class ShownReason:
    """A reason of the gate, with the run that it is about and the link to its report, if any."""

    text: str
    run: str
    link: str


@dataclass(frozen=True)
class Gate:
    """The gate for a version: open, or closed by a failure or for lack of evidence."""

    version: str
    exit: int
    reasons: tuple[ShownReason, ...]

    @property
    def grade(self) -> Grade:
        """The grade whose colour and sign the gate is shown with."""
        if self.exit == EXIT_AS_CLAIMED:
            return Grade.PASS
        return Grade.FAIL if self.exit == EXIT_NOT_AS_CLAIMED else Grade.UNKNOWN

    @property
    def words(self) -> str:
        """The state in words, beside its colour."""
        words = {Grade.PASS: "open", Grade.FAIL: "closed by a failure"}
        return words.get(self.grade, "closed for lack of evidence")


@dataclass(frozen=True)
class Gates:
    """The gates of all versions, the newest first; `trouble` is the reason if there are none."""

    states: tuple[Gate, ...] = ()
    trouble: str = ""


def policy_of(runs: Path) -> Path:
    """Return the policy's path: `ONCEPROOF_POLICY`, or gate.yaml beside the runs folder."""
    return Path(os.environ.get(POLICY) or runs.absolute().parent / "gate.yaml")


def versions_of(entries: Iterable[Entry]) -> list[str]:
    """Return the versions that were run, without duplicates, by their newest run."""
    newest = sorted(entries, key=lambda entry: entry.at, reverse=True)
    return list(dict.fromkeys(entry.subject for entry in newest))


def find_gates(
    file: Path,
    versions: Sequence[str],
    entries: Sequence[Entry],
    issues: Sequence[Issue],
    now: datetime,
    link: Callable[[Entry], str],
) -> Gates:
    """Return the state for each version, by the history's entries and the current evidence."""
    if not file.exists():
        return Gates(
            trouble=f"No gate is decided: there is no policy at {file}; write one, or set {POLICY}"
            " to its path"
        )
    try:
        policy = read_policy(file)
        decisions = [
            decide(policy, one, entries, issues, now, trouble_of, other_of) for one in versions
        ]
    except RequestError as error:
        return Gates(trouble=f"No gate is decided: {error}")
    by_name = {entry.run: entry for entry in entries}

    def link_of(run: str) -> str:
        return link(by_name[run]) if run in by_name else ""

    return Gates(tuple(_gate(decision, link_of) for decision in decisions))


def _gate(decision: Decision, link: Callable[[str], str]) -> Gate:
    order = list(Kind)
    reasons = sorted(decision.reasons, key=lambda reason: order.index(reason.kind))
    shown = (
        ShownReason(": ".join(filter(None, [one.scenario, one.reason])), one.run, link(one.run))
        for one in reasons
    )
    return Gate(decision.version or "unknown version", decision.exit, tuple(shown))
