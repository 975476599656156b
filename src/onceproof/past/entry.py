"""A run as a row of the verdict history, with the digest of its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from onceproof.digests import files_digest
from onceproof.runs.directory import RunDirectory
from onceproof.runs.parts import evidence_paths, files_of
from onceproof.runs.plan import Plan
from onceproof.verdict import Grade, worst

NEVER_JUDGED = "The run was begun but not judged: it is still running, or was killed before its end"
DEGREES = ("none", "felt", "retried", "restarted")  # of a fault's effect, the least first


@dataclass(frozen=True)
class Entry:
    """A run in the history; all fields but the digests come from its verdict document.

    `at` is the end of its job. `broken` has the classes that broke its promise, `findings` the
    checkers that did not pass and their grades. `landed` of the planned `faults` struck with
    proof, and `effects` has the degree of each of those, empty if it was not measured. `ran_on`
    is the digest of the job's environment, empty if unknown. `evidence` is the digest of the
    judge's input, empty until the run is judged, `verdict_digest` that of `verdict.json`. `number`
    is the order in which runs were recorded, independent of any clock.
    """

    run: str
    directory: str
    scenario: str
    seed: int | None
    subject: str
    night: str
    at: datetime
    verdict: str
    claims: str
    as_claimed: bool
    hold_to: str
    reasons: tuple[str, ...]
    findings: Mapping[str, str]
    differences: Mapping[str, int]
    broken: tuple[str, ...]
    faults: int
    landed: int
    recovery_s: float | None
    seconds: float
    tags: tuple[str, ...]
    evidence: str
    verdict_digest: str
    ran_on: str = field(default="")
    effects: tuple[str, ...] = field(default=())
    pruned: bool = field(default=False)
    number: int = field(default=0, compare=False)

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict; otherwise the run was only begun."""
        return self.evidence != ""

    @property
    def is_unknown(self) -> bool:
        """Whether any finding is UNKNOWN, even if the verdict is FAIL."""
        return Grade.UNKNOWN in (self.verdict, *self.findings.values())

    @property
    def is_proved(self) -> bool:
        """Whether every field of the row agrees that the run is as claimed."""
        agreed = self.as_claimed and self.verdict == self.claims
        return agreed and not self.is_unknown and self.landed == self.faults

    def landed_with(self, effect: str) -> int:
        """Return the number of faults that struck, with at least this effect if one is given."""
        if not effect:
            return self.landed
        enough = DEGREES[DEGREES.index(effect) :]
        return sum(degree in enough for degree in self.effects)


@dataclass(frozen=True)
class Night:
    """The scenarios and seeds requested of a night; `at` is its beginning."""

    name: str
    at: datetime
    asked: Mapping[str, Sequence[int]]


def make_entry(
    run: RunDirectory, document: Mapping[str, Any], at: datetime, evidence: str, verdict_digest: str
) -> Entry:
    """Return the entry of a run by its verdict document; `evidence` and `at` are given."""
    plan = document["plan"]
    counts = document["differences"]
    recoveries = [one for one in document["timings"]["recovery"].values() if one is not None]
    tags = plan.get("tags")
    return Entry(
        run=name_of(run, plan),
        directory=_text(run.root.absolute()),
        scenario=_text(document["scenario"]),
        seed=document["seed"],
        subject=_text(document["subject"]),
        night=_text(plan.get("night")),
        at=at,
        verdict=document["verdict"],
        claims=_text(document["claims"]),
        as_claimed=document["as_claimed"],
        hold_to=_text(document["hold_to"]),
        reasons=tuple(document["reasons"]),
        findings=_findings(document),
        differences=counts,
        broken=tuple(n for n, count in counts.items() if count and n not in document["allowed"]),
        faults=len(document["faults"]),
        landed=sum(fault["landed"] for fault in document["faults"]),
        recovery_s=max(recoveries, default=None),
        seconds=document["timeline"]["seconds"],
        tags=tuple(map(_text, tags)) if isinstance(tags, list) else (),
        evidence=evidence,
        verdict_digest=verdict_digest,
        ran_on=_text(document["ran_on"]["digest"]),
        effects=tuple(_degree(fault) for fault in document["faults"] if fault["landed"]),
    )


def _findings(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the checkers that did not pass, each with the worst of its findings."""
    found: dict[str, list[Grade]] = {}
    for one in document["findings"]:
        found.setdefault(one["checker"], []).append(Grade(one["verdict"]))
    return {
        name: worst(grades).value for name, grades in found.items() if worst(grades) != Grade.PASS
    }


def begun_entry(run: RunDirectory, plan: Plan, at: datetime) -> Entry:
    """Return the entry of a run that was planned and has not been judged yet."""
    return Entry(
        run=_text(plan.run),
        directory=_text(run.root.absolute()),
        scenario=_text(plan.scenario),
        seed=plan.seed,
        subject=_text(plan.subject),
        night=_text(plan.night),
        at=at,
        verdict=Grade.UNKNOWN,
        claims=_text(plan.claims),
        as_claimed=False,
        hold_to=_text(plan.hold_to),
        reasons=(NEVER_JUDGED,),
        findings={},
        differences={},
        broken=(),
        faults=len(plan.faults),
        landed=0,
        recovery_s=None,
        seconds=0.0,
        tags=tuple(map(_text, plan.tags)),
        evidence="",
        verdict_digest="",
    )


def _degree(fault: Mapping[str, Any]) -> str:
    return _text((fault.get("effect") or {}).get("degree"))


def name_of(run: RunDirectory, plan: Mapping[str, Any]) -> str:
    """Return a run's name by its plan; without one, the last two parts of its directory.

    The latter has a slash, which the name in a plan never has.
    """
    return _text(plan.get("run")) or _text("/".join(run.root.absolute().parts[-2:]))


def _text(value: Any) -> str:
    """Return a text that every database accepts: NUL and invalid Unicode become ?."""
    text = "" if value is None else str(value)
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def evidence_digest(run: RunDirectory) -> str:
    """Return the sha256 over the judge's input: names and contents, in order.

    It includes a calm run, but not logs, reports, the verdict or the state in the checkpoint. An
    added, missing, renamed or changed file changes the digest.
    """
    return files_digest(files_of(evidence_paths(run)), run.root)
