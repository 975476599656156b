"""The flows of a run: the part of the plan, of the directory and of the history of each output."""

import copy
import json

import pytest

from onceproof.errors import EvidenceError
from onceproof.guarantee import Guarantee
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence
from onceproof.runs.flows import by_query, flows_of
from onceproof.runs.history import History
from onceproof.runs.parts import paths_of
from onceproof.runs.plan import Plan
from onceproof.runs.records import Op
from tests.plans import plan_document

MESSAGES = {"twice": "the plan has two outputs of one name", "none": "the plan has no output 'x'"}


def document(**changes):
    """A plan with the queries `joined`, with two outputs, and `seen`, with one of two inputs."""
    found = plan_document(**changes)
    orders, query = (
        found["inputs"][0] | {"name": "orders", "topic": "r.orders"},
        found["queries"][0],
    )
    payments = orders | {"name": "payments", "topic": "r.payments"}
    output = query["outputs"][0]
    facts, rejects, seen = (
        copy.deepcopy(output) | {"name": name, "target": f"r.{name}"}
        for name in ("facts", "rejects", "seen")
    )
    rejects |= {"hold_to": "at-least-once", "claims": "PASS"}
    joined = query | {"name": "joined", "inputs": ["orders", "payments"]}
    return found | {
        "inputs": [orders, payments],
        "queries": [
            joined | {"outputs": [facts, rejects]},
            query | {"name": "seen", "inputs": ["orders"], "outputs": [seen]},
        ],
    }


def fault(**changes):
    named = {"name": "kill", "verb": "kill", "target": "driver", "when": {"batch": 1}}
    return named | changes


def test_the_one_flow_of_a_run_with_one_output_is_the_run(tmp_path):
    run, plan = RunDirectory(tmp_path), Plan.of(plan_document())
    (flow,) = flows_of(run, plan)
    assert (flow.name, flow.run, flow.plan) == ("", run, plan)


def test_each_output_has_its_query_and_the_inputs_of_that(tmp_path):
    flows = {one.name: one for one in flows_of(RunDirectory(tmp_path), Plan.of(document()))}
    assert [*flows] == ["facts", "rejects", "seen"]
    topics = {name: one.plan.topics for name, one in flows.items()}
    assert topics == dict.fromkeys(("facts", "rejects"), ("r.orders", "r.payments")) | {
        "seen": ("r.orders",)
    }
    assert [one.plan.output.name for one in flows.values()] == [*flows]
    assert flows["rejects"].plan.hold_to is Guarantee.AT_LEAST_ONCE
    assert flows["facts"].plan.hold_to is Guarantee.EXACTLY_ONCE


def test_a_query_has_one_checkpoint_and_each_output_its_own_rows(tmp_path):
    facts, rejects, seen = (
        one.run for one in flows_of(RunDirectory(tmp_path), Plan.of(document()))
    )
    assert facts.checkpoint == rejects.checkpoint == tmp_path / "queries/joined/checkpoint"
    assert seen.checkpoint_log == tmp_path / "queries/seen/checkpoint-log"
    assert rejects.expected == tmp_path / "outputs/rejects/expected"
    assert (facts.ledger, facts.history) == (tmp_path / "ledger", tmp_path / "history.jsonl")


def test_queries_are_known_by_their_first_flow(tmp_path):
    found = by_query(RunDirectory(tmp_path), Plan.of(document()))
    assert {name: one.name for name, one in found.items()} == {"joined": "facts", "seen": "seen"}


def test_a_fault_is_about_the_first_output_of_its_query():
    plan = Plan.of(document(faults=[fault(), fault(name="other", query="seen")]))
    assert [plan.struck_by(one).output.name for one in plan.faults] == ["facts", "seen"]


@pytest.mark.parametrize("problem", MESSAGES)
def test_outputs_are_known_by_unique_names(problem):
    found = document()
    if problem == "twice":
        found["queries"][1]["outputs"][0]["name"] = "facts"
    with pytest.raises(EvidenceError) as refused:
        Plan.of(found).flow("x")
    assert str(refused.value) == MESSAGES[problem]


def test_a_flow_sees_what_is_about_all_and_about_itself_and_every_strike(tmp_path):
    run, plan = RunDirectory(tmp_path), Plan.of(document())
    for about in ("", "query:joined", "query:seen", "output:facts", "output:rejects"):
        History(run.history, about).append("any", Op.PHASE_START)
    History(run.history, "query:seen").append("kill", Op.FAULT_STRIKE)
    _, rejects, seen = (Evidence(one.run) for one in flows_of(run, plan))
    assert [one.about for one in seen.history] == ["", "query:seen", "query:seen"]
    assert [one.about for one in rejects.history] == [
        *("", "query:joined", "output:rejects", "query:seen"),
    ]
    assert [rejects.is_mine(one) for one in rejects.history] == [True, True, True, False]
    assert len(Evidence(run).history) == 6


def test_flows_share_what_was_read_for_the_whole_run(tmp_path):
    run = RunDirectory(tmp_path)
    run.plan.write_text(json.dumps(document()))
    History(run.history, "query:seen").append("any", Op.PHASE_START)
    whole = Evidence(run)
    alone = [Evidence(one.run).history for one in flows_of(run, whole.plan)]
    assert len(whole.history) == 1
    run.history.unlink()
    run.plan.unlink()
    found = [Evidence(one.run, whole) for one in flows_of(run, whole.plan)]
    assert [one.history for one in found] == alone
    assert [one.plan.output.name for one in found] == ["facts", "rejects", "seen"]


def test_the_records_of_a_history_about_an_output_are_its_own(tmp_path):
    path = tmp_path / "history.jsonl"
    for about in ("", "output:facts", "output:rejects"):
        History(path, about).append("any", Op.PHASE_START)
    assert [one.seq for one in History(path, "output:facts").so_far()] == [2]
    assert len(History(path).so_far()) == 3


def test_the_parts_of_the_whole_are_those_of_all_queries_and_outputs(tmp_path):
    run = RunDirectory(tmp_path)
    flows = flows_of(run, Plan.of(document()))
    for flow in flows:
        flow.run.expected.mkdir(parents=True)
        flow.run.checkpoint_log.mkdir(parents=True, exist_ok=True)
    assert set(paths_of(run)["expected"]) == {run.expected, *(one.run.expected for one in flows)}
    assert len(paths_of(run)["checkpoint-log"]) == 3
    assert paths_of(flows[0].run)["expected"] == (flows[0].run.expected,)
