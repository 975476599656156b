"""A plan as the scenario file that would make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from onceproof.references import REFERENCES
from onceproof.scenario.commands import ENTRY, OF_THE_JOB

Fields = dict[str, Any]
_OF_A_JOB = ("command", "reference", "starting")
_AS_THEY_ARE = (
    "tags",
    "restart",
    "limits",
    "ends",
    "last_words",
    "unexplained",
    "hold_to",
    "claims",
    "anomalies",
)


def fields_of(plan: Mapping[str, Any]) -> Fields:
    """Return the fields of the scenario that a plan.json was made from, every default filled in."""
    pipeline, workload, sink = plan["pipeline"], plan["workload"], plan["sink"]
    is_ours = pipeline["name"] in REFERENCES and ENTRY in pipeline["command"]
    job = {name: pipeline[name] for name in _OF_A_JOB}
    job |= {**pipeline["output"], **pipeline["runtime"]}
    given = {name: pipeline["options"][name] for name in OF_THE_JOB if name in pipeline["options"]}
    return {
        "name": plan["scenario"],
        "pipeline": pipeline["name"] if is_ours else job,
        "sink": {"name": sink["name"], **sink["options"]} if sink["options"] else sink["name"],
        **(given if is_ours else {}),
        **({"source_options": dict(more)} if (more := plan.get("source_options")) else {}),
        "workload": {
            "name": workload["name"],
            "partitions": workload["partitions"],
            **workload["options"],
        },
        "faults": [
            {"name": one["name"], "do": one["verb"], "target": one["target"], "when": one["when"]}
            | {name: one[name] for name in ("how", "effect") if one.get(name)}
            for one in plan["faults"]
        ],
        **{name: plan[name] for name in _AS_THEY_ARE if name in plan},
    }


def to_yaml(fields: Fields) -> str:
    """Return a scenario file."""
    text: str = yaml.safe_dump(fields, sort_keys=False, default_flow_style=None, width=100)
    return text
