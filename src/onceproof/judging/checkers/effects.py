"""The effect of each strike on the job is at least what its scenario demands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.judging.checkers.faults_landed import landed
from onceproof.judging.effects import Degree
from onceproof.judging.effects.measure import failures, measure
from onceproof.runs.evidence import Evidence
from onceproof.verdict import Finding, Grade, not_applicable


def effects(evidence: Evidence) -> Finding:
    """Return UNKNOWN for a strike with less effect than demanded: it proves nothing.

    A fault that did not land has no effect to measure; `faults_landed` reports it.
    """
    strikes, failed = landed(evidence), failures(evidence)
    measured = [
        (fault, measure(evidence, failed, strikes[fault.name]))
        for fault in evidence.plan.faults
        if fault.name in strikes
    ]
    weak = [
        f"{fault.name} had the effect {effect['degree']}, but its scenario demands"
        f" {fault.effect}{_unknown(effect)}: without an effect, a fault proves nothing"
        for fault, effect in measured
        if fault.effect and not Degree(effect["degree"]).reaches(Degree(fault.effect))
    ]
    numbers = {
        "demanded": sum(bool(fault.effect) for fault in evidence.plan.faults),
        "measured": len(measured),
    }
    if weak:
        return Finding("effects", Grade.UNKNOWN, "; ".join(weak), numbers)
    if not measured:
        return not_applicable("effects", "No fault struck: there is no effect to measure", numbers)
    degrees = ", ".join(f"{fault.name} {effect['degree']}" for fault, effect in measured)
    return Finding("effects", Grade.PASS, f"The effect of each strike: {degrees}", numbers)


def _unknown(effect: Mapping[str, Any]) -> str:
    return f" (failed tasks are unknown: {effect['engine']})" if "engine" in effect else ""
