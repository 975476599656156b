"""Scenarios with several inputs, queries and outputs: what they mean, and what is refused."""

import json
import re
from pathlib import Path

import pytest
import yaml

from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.phases.plan import plan_of
from onceproof.phases.subject import Subject
from onceproof.scenario import Scenario
from onceproof.scenario.deciding import deciding_files
from onceproof.scenario.model import fields_of
from onceproof.scenario.sentences import explain
from onceproof.verdict import Grade

ROOT = Path(__file__).parents[3]
FOLDER = str(ROOT / "tests/system/strangers")
PAGE = (ROOT / "docs/test-a-job/several.md").read_text()


def fields():
    """The example of the page."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return yaml.safe_load(text)


def plan(scenario):
    return plan_of(scenario, 7, deciding_files(scenario), Subject("s", {}), {})


def changed(path, value):
    """The example with one field set; a value of None removes it."""
    found = fields()
    *above, last = path
    place = found
    for name in above:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return found


SEEN = ("queries", "seen", "outputs", "seen")
COMMAND = ("pipeline", "command")
MISTAKES = {
    "no such input": (
        ("queries", "seen", "inputs"),
        ["order"],
        "queries.seen.inputs[0]: unknown input 'order'; did you mean 'orders'",
    ),
    "no such query of a fault": (
        ("faults",),
        [{"do": "kill", "target": "driver", "when": {"batch": 1, "query": "sen"}}],
        "faults[0].when.query: unknown query 'sen'; did you mean 'seen'",
    ),
    "no name in a placeholder": (
        COMMAND,
        ["x", "{topic}"],
        "pipeline.command[1]: unknown placeholder 'topic'",
    ),
    "no such output in a placeholder": (
        COMMAND,
        ["x", "{target:sen}"],
        "pipeline.command[1]: unknown placeholder 'target:sen'; did you mean 'target:seen'",
    ),
    "no reference": ((*SEEN, "reference"), None, "queries.seen.outputs.seen: reference is missing"),
    "no output": (
        ("queries", "seen", "outputs"),
        {},
        "queries.seen.outputs: is empty; write an output",
    ),
    "two outputs of a name": (
        ("queries", "seen", "outputs"),
        {"paid": {"sink": "table", "reference": "each_once", "key": ["a"]}},
        "queries.seen.outputs.paid: duplicate name 'paid' of an output; rename one",
    ),
    "both forms of the input": (
        ("workload",),
        {"events": 5},
        "workload: is the short form of one input; write it under inputs",
    ),
    "both forms of the output": (("sink",), "table", "sink: unknown key 'sink'"),
    "no inputs": (("inputs",), {}, "inputs: is empty; write the workload of each input"),
    "to follow what is below": (
        ("inputs", "orders"),
        {"name": "follows", "follows": "payments", "value": {"id": "payments.order_id"}},
        "inputs.orders.follows: unknown input 'payments'",
    ),
    "a strange name": (
        ("inputs", "My Orders"),
        {"name": "page_views"},
        "invalid name 'My Orders'; use at most 30 lower-case letters, digits and _",
    ),
    "a bad option of an input": (
        ("inputs", "orders", "partitions"),
        0,
        "inputs.orders.partitions: invalid value 0",
    ),
    "a disk of one checkpoint": (
        ("faults",),
        [{"do": "fill", "target": "checkpoint", "when": {"batch": 1}}],
        "needs the one checkpoint of a run; use it in a scenario with one query",
    ),
}


def test_each_output_has_its_query_and_its_own_claim():
    made = plan(Scenario.of(fields() | {"faults": fields()["faults"]}, folder=FOLDER))
    assert [one.name for one in made.inputs] == ["orders", "payments"]
    assert made.topics == ("{run}.orders", "{run}.payments")
    assert [(one.name, one.inputs) for one in made.queries] == [
        ("paid", ("orders", "payments")),
        ("seen", ("orders",)),
    ]
    assert [one.target for one in made.outputs] == ["{run}.paid", "{run}.seen"]
    assert made.faults[0].query == "seen"
    assert made.outputs[0].hold_to is Guarantee.EXACTLY_ONCE
    assert made.outputs[0].claims is Grade.PASS


def test_inputs_draw_different_values_from_one_seed():
    orders, payments = plan(Scenario.of(fields(), folder=FOLDER)).inputs
    assert orders.seed != payments.seed
    assert plan(Scenario.of(fields(), folder=FOLDER)).inputs == (orders, payments)


def test_an_input_that_follows_another_one_has_its_workload_in_the_plan():
    orders, payments = plan(Scenario.of(fields(), folder=FOLDER)).inputs
    followed = json.loads(payments.options["followed"])
    assert (followed["workload"], followed["seed"]) == (orders.workload, orders.seed)
    assert followed["options"] == dict(orders.options)


def test_the_fields_of_its_plan_make_the_scenario():
    scenario = Scenario.of(fields(), folder=FOLDER)
    for made in (scenario.fields(), fields_of(plan(scenario))):
        again = Scenario.of(made, folder=FOLDER)
        assert (again.inputs, again.faults) == (scenario.inputs, scenario.faults)
        assert again.queries == scenario.queries


def test_several_inputs_may_have_one_output():
    found = fields() | {"sink": fields()["queries"]["seen"]["outputs"]["seen"]["sink"]}
    own = fields()["queries"]["paid"]["outputs"]["paid"]
    named = {name: own[name] for name in ("reference", "key", "columns")}
    command = ["x", "{topic:orders}", "{topic:payments}", "{target}", "{checkpoint}"]
    found |= {"name": "shop__table__calm", "pipeline": {"command": command, **named}, "faults": []}
    made = plan(Scenario.of({k: v for k, v in found.items() if k != "queries"}, folder=FOLDER))
    assert (made.query.name, made.query.inputs) == ("main", ("orders", "payments"))


def test_the_explanation_names_each_output_and_input():
    lines = explain(plan(Scenario.of(fields(), folder=FOLDER)))
    assert [line.partition(":")[0] for line in lines["Sent"] if " events of " in line] == [
        *("orders", "payments"),
    ]
    assert [line.partition(",")[0] for line in lines["Judged"][:2]] == ["paid", "seen"]
    assert [line.partition(":")[0] for line in lines["FAIL"]] == ["paid", "seen"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_its_place_and_the_remedy(mistake):
    path, value, message = MISTAKES[mistake]
    with pytest.raises(RequestError) as refused:
        Scenario.of(changed(path, value), folder=FOLDER)
    assert message in str(refused.value)
