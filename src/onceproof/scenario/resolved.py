"""A scenario as it may stand in a file, with nothing left to defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.run.work import ALLOWED
from onceproof.scenario.commands import OF_THE_JOB
from onceproof.scenario.model import Scenario


def resolved(scenario: Scenario) -> dict[str, Any]:
    """Return every field of a scenario; read from a file, they make the same scenario."""
    claim, sink, workload = scenario.claim, scenario.sink, scenario.workload
    options = scenario.pipeline.options
    return {
        "name": scenario.name,
        "tags": list(scenario.tags),
        "pipeline": scenario.pipeline.name if scenario.is_ours else _job(scenario),
        "workload": {
            "name": workload.name,
            "partitions": workload.partitions,
            **workload.options,
        },
        "sink": {"name": sink.name, **sink.options} if sink.options else sink.name,
        **({"source_options": dict(scenario.source_options)} if scenario.source_options else {}),
        **{name: options[name] for name in OF_THE_JOB if name in options},
        "faults": [
            {
                "name": fault.name,
                "do": fault.verb,
                "target": fault.target,
                "when": dict(fault.when),
                **({"how": dict(fault.how)} if fault.how else {}),
                **({"effect": fault.effect} if fault.effect else {}),
            }
            for fault in scenario.faults
        ],
        "restart": dict(scenario.restart),
        "limits": {"run_s": int(scenario.limits.run_s), "stall_s": int(scenario.limits.stall_s)},
        "ends": scenario.ends,
        **({"last_words": scenario.last_words} if scenario.last_words else {}),
        **({"unexplained": ALLOWED} if scenario.unexplained == ALLOWED else {}),
        "hold_to": claim.promise.guarantee.value,
        "claims": claim.verdict.value,
        "anomalies": sorted(one.value for one in claim.anomalies),
    }


def _job(scenario: Scenario) -> Mapping[str, Any]:
    pipeline = scenario.pipeline
    own = {name: value for name, value in pipeline.options.items() if name not in OF_THE_JOB}
    told = {**pipeline.output, **pipeline.runtime, **({"options": own} if own else {})}
    return {
        "command": list(pipeline.command),
        "reference": pipeline.reference,
        "starting": pipeline.starting,
        **{name: list(one) if isinstance(one, tuple) else one for name, one in told.items()},
    }
