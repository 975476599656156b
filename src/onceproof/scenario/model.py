"""A scenario as data: jobs, inputs, queries and faults, and the claimed verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from onceproof.guarantee import Anomaly, Guarantee
from onceproof.references import REFERENCES
from onceproof.runs.plan import ALLOWED, IN_TURNS, FaultPart, OutputPart, Parts, Plan
from onceproof.runs.suites import SOURCE, suites_in
from onceproof.scenario.commands import ENTRY, OF_THE_JOB
from onceproof.scenario.suites import OwnSuite
from onceproof.verdict import Claim, Grade

FOLDER = "scenarios"  # the catalogue's name for display
IN_FILE = "::"
# The names in the short form of a scenario: of its input (and the end of the topic), query, output.
INPUT, QUERY, OUTPUT = "events", "main", "output"
FOLLOWED = "followed"  # an option of an input that only its plan has
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
    source = dict(one.query.source_options)
    return {
        "name": name,
        "tags": list(one.tags),
        "pipeline": pipeline,
        **_inputs(one),
        **({"sink": _sink(one.output)} if _is_short(one) else {"queries": _queries(one)}),
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
        **(_claim_of(one.claim) if _is_short(one) else {}),
    }


def _is_short(one: Parts) -> bool:
    """Whether the one query and its one output have the names of the short form."""
    return (one.query.name, len(one.outputs)) == (QUERY, 1) and one.output.name == OUTPUT


def _inputs(one: Parts) -> Fields:
    found = {}
    for read in one.inputs:
        own = {name: value for name, value in read.options.items() if name != FOLLOWED}
        found[read.name] = {"name": read.workload, "partitions": read.partitions, **own}
    return {"workload": found[INPUT]} if [*found] == [INPUT] else {"inputs": found}


def _sink(output: OutputPart) -> str | Fields:
    return {"name": output.sink, **output.options} if output.options else output.sink


def _queries(one: Parts) -> Fields:
    return {
        query.name: {
            "inputs": list(query.inputs),
            "starting": query.starting,
            "outputs": {output.name: _output(output) for output in query.outputs},
        }
        for query in one.queries
    }


def _output(output: OutputPart) -> Fields:
    claim = _claim(output.hold_to, output.claims or Grade.PASS, output.anomalies)
    return {"sink": _sink(output), **_reference(output), **claim}


def _claim_of(claim: Claim) -> Fields:
    return _claim(claim.promise.guarantee, claim.verdict, claim.anomalies)


def _claim(hold_to: Guarantee | None, claims: Grade, anomalies: Collection[Anomaly]) -> Fields:
    return {
        **({"hold_to": hold_to.value} if hold_to else {}),
        "claims": claims.value,
        "anomalies": sorted(anomaly.value for anomaly in anomalies),
    }


def _reference(output: OutputPart) -> Fields:
    return {"reference": output.reference, **_listed(output.declared)}


def _listed(given: Mapping[str, Any]) -> Fields:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in given.items()
    }


def _fault(fault: FaultPart) -> Fields:
    return {
        "name": fault.name,
        "do": fault.verb,
        "target": fault.target,
        "when": {**fault.when, **({"query": fault.query} if fault.query else {})},
        **({"how": dict(fault.how)} if fault.how else {}),
        **({"effect": fault.effect} if fault.effect else {}),
    }


def _job(one: Parts) -> Fields:
    job = one.job
    return {
        "command": list(job.command),
        **({**_reference(one.output), "starting": one.query.starting} if _is_short(one) else {}),
        **_listed(job.runtime),
    }
