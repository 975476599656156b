"""A plan on disk: its golden document, plans of the schema before, and what is refused."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from onceproof.errors import EvidenceError
from onceproof.phases.plan import plan_of
from onceproof.phases.subject import Subject
from onceproof.runs.plan import Plan
from onceproof.scenario import Scenario, find_scenario
from onceproof.scenario.deciding import deciding_files
from onceproof.scenario.model import fields_of
from tests.plans import output_of, plan_document

PLANS = Path(__file__).parent / "plans"
OLD = json.loads((PLANS / "schema_1.json").read_text())
GOLDEN = json.loads((PLANS / "schema_2.json").read_text())


def planned(name):
    """The plan as it is made now; the digests of our own code are left out."""
    one = find_scenario(name)
    plan = plan_of(one, 7, deciding_files(one), Subject("sub", {}), {"a": "b"}).named("R")
    return replace(plan, decided_by={})


def test_a_plan_is_written_as_the_golden_one():
    assert planned(GOLDEN["scenario"]).document == GOLDEN


def test_a_plan_is_read_as_it_was_written():
    assert Plan.of(GOLDEN).document == GOLDEN


@pytest.mark.parametrize("name", OLD)
def test_a_plan_of_schema_1_is_the_plan_that_its_scenario_makes_now(name):
    assert Plan.of(OLD[name]) == planned(name)


@pytest.mark.parametrize("name", OLD)
def test_the_fields_of_a_plan_make_its_scenario(name):
    scenario = find_scenario(name)
    again = Scenario.of(fields_of(planned(name)), folder=scenario.folder)
    assert (again.jobs, again.inputs, again.queries) == (
        *(scenario.jobs, scenario.inputs, scenario.queries),
    )
    assert (again.faults, again.claim) == (scenario.faults, scenario.claim)


def without(name):
    return {key: value for key, value in GOLDEN.items() if key != name}


def written_twice(**changes):
    plan = plan_document()
    output_of(plan).update(changes)
    return plan


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "the plan has no 'workload'"),
        (without("faults"), "the plan has no 'faults'"),
        (GOLDEN | {"fault": []}, "the plan has an unknown field 'fault'"),
        (GOLDEN | {"seed": True}, "the plan: seed is True, but must be of type int"),
        (GOLDEN | {"schema": 3}, "unknown schema 3 of the plan; this version reads 1 and 2"),
        (GOLDEN | {"claims": "pass"}, "claims is 'pass', but must be one of: PASS, UNKNOWN, FAIL"),
        (GOLDEN | {"queries": []}, "no job, no input, no query or no output"),
        (written_twice(writes="both"), "outputs: writes is 'both', but must be one of: append, "),
        (written_twice(options=[]), "options is [], but must be of type dict"),
        (written_twice(rows={"key": []}), "the plan: queries: outputs: rows has no 'columns'"),
        (plan_document(faults=GOLDEN["faults"] * 2), "two faults of one name"),
    ],
)
def test_a_document_that_is_not_a_plan_is_refused_with_its_field(document, message):
    with pytest.raises(EvidenceError, match=re.escape(message)):
        Plan.of(document)
