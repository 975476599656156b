"""The gate's state for each version that was run, as `onceproof gate` would say it now."""

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
class Shown:
    """A sentence of the gate, and the link to the report of the run that shows it, if any."""

    text: str
    run: str
    link: str


@dataclass(frozen=True)
class Gate:
    """The gate for one version: open, or closed by a failure or for lack of evidence."""

    version: str
    exit: int
    reasons: tuple[Shown, ...]

    @property
    def grade(self) -> Grade:
        """The colour and the sign that it is shown with."""
        if self.exit == EXIT_AS_CLAIMED:
            return Grade.PASS
        return Grade.FAIL if self.exit == EXIT_NOT_AS_CLAIMED else Grade.UNKNOWN

    @property
    def words(self) -> str:
        """Its state, for whoever sees no colour."""
        said = {Grade.PASS: "open", Grade.FAIL: "closed by a failure"}
        return said.get(self.grade, "closed for lack of evidence")


@dataclass(frozen=True)
class Gates:
    """The gate for each version, the newest first; `trouble` says why there is none to be told."""

    states: tuple[Gate, ...] = ()
    trouble: str = ""


def policy_of(runs: Path) -> Path:
    """Return where the policy is: `ONCEPROOF_POLICY`, else gate.yaml beside the runs folder."""
    return Path(os.environ.get(POLICY) or runs.absolute().parent / "gate.yaml")


def versions_of(entries: Iterable[Entry]) -> list[str]:
    """Return the versions that were run, each once, that of the newest run first."""
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
    """Return the state for each version, by all entries of the history and the evidence of now."""
    if not file.exists():
        return Gates(
            trouble=f"No gate is decided, because there is no policy at {file}: write one there,"
            f" or set {POLICY} to where it is"
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
    """Return what is shown of a decision: what closes the gate stands first."""
    order = list(Kind)
    reasons = sorted(decision.reasons, key=lambda reason: order.index(reason.kind))
    shown = (
        Shown(": ".join(filter(None, [one.scenario, one.reason])), one.run, link(one.run))
        for one in reasons
    )
    return Gate(decision.version or "version not known", decision.exit, tuple(shown))
