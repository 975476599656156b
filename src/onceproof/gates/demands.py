"""The demands of a scenario on a run: a run whose plan has other demands does not count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from onceproof.errors import EvidenceError
from onceproof.runs.plan import Plan
from onceproof.scenario import Scenario
from onceproof.scenario.commands import OF_THE_JOB
from onceproof.scenario.deciding import (
    deciding_files,
    digests_of,
    expectations_of,
    suites_digest,
)
from onceproof.scenario.model import fields_of

Demands = dict[str, Any]
_DECIDED_BY = "decided_by"
# Fields that are not compared; every other field is, also a new one.
_LEFT_OUT = {"name", "tags", "limits"}
_LEFT_OUT_OF_A_JOB = {"command", "options"}  # a plan has the one with the other filled in


def demands_of(scenario: Scenario) -> Demands:
    """Return a scenario's input, faults, expected rows and promise."""
    suites = expectations_of(scenario)
    deciding = digests_of(deciding_files(scenario), suites)
    return _demands(scenario.fields()) | {_DECIDED_BY: deciding}


def not_demanded(plan: Mapping[str, Any], demands: Demands) -> str:
    """Return how a plan differs from its scenario's demands; empty if it does not."""
    try:
        its = Plan.of(plan)
    except EvidenceError:
        return _sentence("it cannot be read")
    deciding = {**its.decided_by, **suites_digest(its.expectations)}
    found = _demands(fields_of(its))
    ours = {name: value for name, value in demands.items() if name != _DECIDED_BY}
    other = [*_others(ours, found), *_others(demands[_DECIDED_BY], deciding)]
    if not other:
        return ""
    return _sentence(f"{', '.join(other)} {'differs' if len(other) == 1 else 'differ'}")


def _others(ours: Mapping[str, Any], its: Mapping[str, Any]) -> list[str]:
    return [name for name in sorted({*ours, *its}) if ours.get(name) != its.get(name)]


def _sentence(why: str) -> str:
    return f"Its plan is not the scenario's, because {why}; run the scenario that the policy names"


def _demands(fields: Mapping[str, Any]) -> Demands:
    found = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    if isinstance(job := fields["pipeline"], Mapping):
        of_its_command = {"pipeline", *OF_THE_JOB}
        found = {name: value for name, value in found.items() if name not in of_its_command}
        found |= {name: value for name, value in job.items() if name not in _LEFT_OUT_OF_A_JOB}
    return {name: _anywhere(value) for name, value in json.loads(json.dumps(found)).items()}


def _anywhere(value: Any) -> Any:
    """Return a value without folders: an absolute path becomes the file's name."""
    if isinstance(value, dict):
        return {name: _anywhere(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_anywhere(one) for one in value]
    return value.rpartition("/")[2] if isinstance(value, str) and value[:1] == "/" else value
