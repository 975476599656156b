"""Every strike changed as much in the job as its scenario demands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.judging.checkers.faults_landed import landed
from onceproof.judging.effects import Degree
from onceproof.judging.effects.measure import failures, measure
from onceproof.runs.evidence import Evidence
from onceproof.verdict import Finding, Grade


def effects(evidence: Evidence) -> Finding:
    """Say UNKNOWN for a strike that had less effect than demanded: it proves nothing.

    A fault that did not land has no effect to be measured; `faults_landed` reports it.
    """
    strikes, failed = landed(evidence), failures(evidence)
    found = [
        (fault, measure(evidence, failed, strikes[fault.name]))
        for fault in evidence.plan.faults
        if fault.name in strikes
    ]
    said = [
        f"{fault.name} had the effect {effect['degree']}, and its scenario demands"
        f" {fault.effect}{_unknown(effect)}: a fault that changes nothing proves nothing"
        for fault, effect in found
        if fault.effect and not Degree(effect["degree"]).reaches(Degree(fault.effect))
    ]
    numbers = {
        "demanded": sum(bool(fault.effect) for fault in evidence.plan.faults),
        "measured": len(found),
    }
    if said:
        return Finding("effects", Grade.UNKNOWN, "; ".join(said), numbers)
    told = ", ".join(f"{fault.name} {effect['degree']}" for fault, effect in found)
    reason = f"The effect of each strike: {told}" if told else "No strike had an effect to measure"
    return Finding("effects", Grade.PASS, reason, numbers)


def _unknown(effect: Mapping[str, Any]) -> str:
    return f" (failed tasks are unknown: {effect['engine']})" if "engine" in effect else ""
