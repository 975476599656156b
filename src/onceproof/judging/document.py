"""The verdict document: the content of verdict.json and of every report."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.judging.blame import MOST_SAMPLED, blame
from onceproof.judging.checkers import first_line
from onceproof.judging.checkers.faults_landed import landed
from onceproof.judging.effects.measure import failures, measure
from onceproof.judging.follow_ups import CAUSE, follow_ups
from onceproof.judging.ran_on import NOTHING, ran_on, versions_of
from onceproof.judging.recovery import recovered, recoveries
from onceproof.judging.timeline import elapsed, healed, timeline
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade, Verdict

SCHEMA = 1


def verdict_document(
    evidence: Evidence, verdict: Verdict, parts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the document; unknown values are null or empty, never guessed."""
    plan, claim = or_none(lambda: evidence.plan), verdict.claim
    written: Mapping[str, Any] = plan.document if plan else {}
    subject = written.get("subject")
    run = str(evidence.run.root.absolute())
    return {
        "schema": SCHEMA,
        "scenario": plan.scenario if plan else None,
        "subject": None if subject is None else str(subject),
        "verdict": verdict.grade,
        "hold_to": claim.promise.guarantee if claim else None,
        "claims": claim.verdict if claim else None,
        "anomalies": sorted(claim.anomalies) if claim else [],
        "as_claimed": verdict.as_claimed,
        "reasons": list(verdict.reasons),
        "findings": _findings(evidence, verdict),
        "differences": {str(name): count for name, count in verdict.differences.items()},
        "counted": sorted(verdict.counted),
        "allowed": sorted(filter(claim.promise.allows, Anomaly)) if claim else [],
        **{name: parts[name] for name in _PARTS},
        "run": run,
        "replay": str(written.get("replay") or f"onceproof replay {run}"),
        "versions": versions_of(written, parts["ran_on"]),
        "seed": plan.seed if plan else None,
        "plan": dict(written),
    }


def _findings(evidence: Evidence, verdict: Verdict) -> list[dict[str, Any]]:
    # Findings that follow from a failed phase name the checker `phases`.
    follow = follow_ups(evidence, verdict.findings)
    return [
        _finding(one) | ({"caused_by": CAUSE} if one.checker in follow else {})
        for one in verdict.findings
    ]


def _finding(finding: Finding) -> dict[str, Any]:
    document = {
        "checker": finding.checker,
        "verdict": finding.verdict,
        "status": finding.status,
        "reason": finding.reason,
        "numbers": dict(finding.numbers)
        | {str(name): count for name, count in finding.anomalies.items()},
    }
    document |= {"about": finding.about} if finding.about else {}
    return document | ({"traceback": finding.traceback} if finding.traceback else {})


def parts(evidence: Evidence) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """Return the document's parts beside the verdict, and a finding for each part that raised.

    A part whose evidence is missing is empty; the checkers report it.
    """
    found: dict[str, Any] = {}
    raised = []
    for name, (make, empty) in _PARTS.items():
        try:
            found[name] = make(evidence)
        except EvidenceError:
            found[name] = empty
        except Exception as error:
            found[name] = empty
            reason = f"The report's {name} raised {type(error).__name__}: {first_line(error)}"
            raised.append(Finding(name, Grade.UNKNOWN, reason, traceback=traceback.format_exc()))
    return found, tuple(raised)


def _samples(evidence: Evidence) -> list[Any]:
    return list(evidence.differences.samples[:MOST_SAMPLED])


def _faults(evidence: Evidence) -> list[dict[str, Any]]:
    strikes = or_none(lambda: landed(evidence)) or {}
    failed = or_none(lambda: failures(evidence))
    measured = or_none(lambda: recoveries(evidence, elapsed(evidence.history))) or {}
    return [
        {
            "name": fault.name,
            "target": fault.target,
            "trigger": fault.trigger,
            "landed": strike is not None,
            "at": _when(strike),
            "healed_at": _when(healed(evidence, strike)) if strike else None,
            "proof": dict(strike.proof) if strike else {},
            "recovery": measured.get(fault.name),
            "effect": measure(evidence, failed, strike) if strike and failed else None,
        }
        for fault in evidence.plan.faults
        for strike in [strikes.get(fault.name)]
    ]


def _when(record: Record | None) -> str | None:
    if record is None:
        return None
    return datetime.fromtimestamp(record.wall, UTC).isoformat(timespec="milliseconds")


def _counts(evidence: Evidence) -> dict[str, int | None]:
    ledger = or_none(lambda: evidence.ledger)
    positions = or_none(lambda: evidence.positions)
    compared = or_none(lambda: evidence.differences)
    last = positions[-1][1] if positions else {}
    return {
        "offered": ledger.offered if ledger else None,
        "acknowledged": ledger.acknowledged if ledger else None,
        "committed": ledger.covered_by(last) if ledger and positions is not None else None,
        "expected": compared.expected if compared else None,
        "observed": compared.observed if compared else None,
        "late": compared.late if compared else None,
    }


def _timings(evidence: Evidence) -> dict[str, dict[str, float | None]]:
    at = elapsed(evidence.history)
    began: dict[str, float] = {}
    phases: dict[str, float | None] = {}
    for record in evidence.of(Op.PHASE_START, Op.PHASE_END):
        if record.op is Op.PHASE_START:
            began[record.actor], phases[record.actor] = at[record.seq], None
        elif record.actor in began:
            phases[record.actor] = round(at[record.seq] - began[record.actor], 3)
    backs = {name: recovered(evidence, strike) for name, strike in landed(evidence).items()}
    recovery = {
        name: None if back is None else round(at[back] - at[landed(evidence)[name].seq], 3)
        for name, back in backs.items()
    }
    return {"phases": phases, "recovery": recovery}


_PARTS: dict[str, tuple[Callable[[Evidence], Any], Any]] = {
    "ran_on": (ran_on, dict(NOTHING)),
    "samples": (_samples, []),
    "blame": (blame, []),
    "faults": (_faults, []),
    "counts": (
        _counts,
        dict.fromkeys(("offered", "acknowledged", "committed", "expected", "observed", "late")),
    ),
    "timings": (_timings, {"phases": {}, "recovery": {}}),
    "timeline": (
        timeline,
        {"seconds": 0.0, "offered": [], "committed": [], "seen": [], "faults": []},
    ),
}
