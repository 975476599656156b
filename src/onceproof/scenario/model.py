"""A scenario as data: jobs, inputs, queries and faults, and the claimed verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from onceproof.references import REFERENCES
from onceproof.runs.plan import ALLOWED, IN_TURNS, FaultPart, Parts, Plan
from onceproof.runs.suites import SOURCE, suites_in
from onceproof.scenario.commands import ENTRY, OF_THE_JOB
from onceproof.scenario.suites import OwnSuite
from onceproof.verdict import Claim

FOLDER = "scenarios"  # the catalogue's name for display
IN_FILE = "::"
Fields = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scenario(Parts):
    """A checked scenario with all defaults; values that only a run has are empty in its parts.

    `folder` is the folder of its file. `is_ours`: its job is one of the catalogue's. The job's
    options have `state_store`, `max_offsets`, `trigger` and `source`, if its command takes them.
    `expectations` are suites of its own.
    `drawn` counts faults that were drawn from the seed; `origin` is the address of the scenario
    that they were drawn for.
    """

    name: str
    is_ours: bool
    claim: Claim
    expectations: tuple[OwnSuite, ...] = ()
    in_catalogue: bool = False
    folder: str = "."
    drawn: int = 0
    origin: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, Any], *, folder: str = ".", file: str = "") -> Scenario:
        """Return the scenario with these fields, or raise `RequestError` with every mistake.

        Names of files are relative to `folder`. `file` is for the scenario's address.
        """
        from onceproof.scenario.catalogue import read_fields_of

        return read_fields_of(fields, folder, file)

    @property
    def address(self) -> str:
        """The argument that finds this scenario: its name in the catalogue, or FILE::NAME."""
        if self.origin:
            return self.origin
        return self.name if self.in_catalogue else f"{self.file}{IN_FILE}{self.name}"

    def fields(self) -> Fields:
        """Return every field as in a file; `of` makes the same scenario from them."""
        options = self.job.options
        own = {name: value for name, value in options.items() if name not in OF_THE_JOB}
        job = {**_job(self), **({"options": own} if own else {})}
        given = {name: options[name] for name in OF_THE_JOB if name in options}
        suites = [one.field() for one in self.expectations]
        return _fields(self, self.name, self.job.name if self.is_ours else job, given, suites)


def fields_of(plan: Plan) -> Fields:
    """Return the fields of the scenario that a plan was made from, every default filled in.

    The command of a user's job has its options filled in, so they are not repeated.
    """
    options = plan.job.options
    is_ours = plan.job.name in REFERENCES and ENTRY in plan.job.command
    given = {name: options[name] for name in OF_THE_JOB if name in options and is_ours}
    suites = [suite[SOURCE] for _, suite in suites_in(plan.expectations) if SOURCE in suite]
    return _fields(plan, plan.scenario, plan.job.name if is_ours else _job(plan), given, suites)


def to_yaml(fields: Fields) -> str:
    """Return a scenario file."""
    text: str = yaml.safe_dump(fields, sort_keys=False, default_flow_style=None, width=100)
    return text


def _fields(
    one: Scenario | Plan,
    name: str,
    pipeline: str | Fields,
    given: Mapping[str, Any],
    suites: list[Fields],
) -> Fields:
    sink, claim = one.output, one.claim
    source = dict(one.query.source_options)
    return {
        "name": name,
        "tags": list(one.tags),
        "pipeline": pipeline,
        "workload": {
            "name": one.input.workload,
            "partitions": one.input.partitions,
            **one.input.options,
        },
        "sink": {"name": sink.sink, **sink.options} if sink.options else sink.sink,
        **({"source_options": source} if source else {}),
        **given,
        "faults": [_fault(fault) for fault in one.faults],
        **({"lives": IN_TURNS} if one.lives == IN_TURNS else {}),
        "restart": dict(one.restart),
        "limits": {"run_s": one.limits.run_s, "stall_s": one.limits.stall_s},
        "ends": one.ends,
        **({"last_words": one.last_words} if one.last_words else {}),
        **({"unexplained": ALLOWED} if one.unexplained == ALLOWED else {}),
        **({"expectations": suites} if suites else {}),
        "hold_to": claim.promise.guarantee.value,
        "claims": claim.verdict.value,
        "anomalies": sorted(anomaly.value for anomaly in claim.anomalies),
    }


def _fault(fault: FaultPart) -> Fields:
    return {
        "name": fault.name,
        "do": fault.verb,
        "target": fault.target,
        "when": dict(fault.when),
        **({"how": dict(fault.how)} if fault.how else {}),
        **({"effect": fault.effect} if fault.effect else {}),
    }


def _job(one: Parts) -> Fields:
    job, output = one.job, one.output
    return {
        "command": list(job.command),
        "reference": output.reference,
        "starting": one.query.starting,
        **{
            name: list(value) if isinstance(value, tuple) else value
            for name, value in {**output.declared, **job.runtime}.items()
        },
    }
