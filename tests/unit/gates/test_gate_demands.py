"""A weaker plan under a scenario's name is no run of that scenario, and opens no gate for it."""

import json
from pathlib import Path

import pytest

from onceproof.digests import file_digest
from onceproof.documents import read_object
from onceproof.gates.ask import ask
from onceproof.gates.demands import demands_of, not_demanded
from onceproof.past.entry import evidence_digest
from onceproof.past.store import open_store
from onceproof.phases.plan import make_plan, plan_of
from onceproof.phases.subject import Subject
from onceproof.scenario import find_scenario, load_catalogue
from onceproof.scenario.catalogue import read_file
from onceproof.scenario.deciding import deciding_files
from tests.plans import input_of
from tests.unit.verdict_entries import SCENARIO, good

STRANGERS = Path(__file__).parents[2] / "system/strangers/orders.yaml"
MINE = """\
name: mine__rows__kill_driver
pipeline:
  command: ["{python}", "{here}/job.py", "{window}", "{max_offsets}"]
  reference: "reference.py:totals"
  python: "{here}/venv/bin/python"
  jars: [a.jar]
  env: {TZ: UTC}
  options: {window: 4 s}
  key: [id]
  columns: {id: bigint, n: bigint}
workload: {name: records, file: records.jsonl, events: 400}
sink: {name: rows, read: "reader.py:rows"}
faults: [{do: kill, target: driver, when: {batch: 1}}]
hold_to: exactly-once
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.delenv("ONCEPROOF_HISTORY", raising=False)
    return tmp_path / "runs"


def lived(runs, scenario, **changes):
    """A green run of a scenario, and its row; its plan is the scenario's but for the changes."""
    run = make_plan(scenario, 1, runs)
    run.plan.write_text(json.dumps(read_object(run.plan) | changes))
    run.verdict.write_text("{}")
    digests = {"evidence": evidence_digest(run), "verdict_digest": file_digest(run.verdict)}
    entry = good(directory=str(run.root), scenario=scenario.name, **digests)
    return open_store(runs / "history.sqlite").record(entry)


def said(runs, tmp_path, scenario=SCENARIO):
    """What closes the gate of a policy that wants one pass; nothing where it is open."""
    policy = tmp_path / "gate.yaml"
    policy.write_text(f"require: [{{scenario: '{scenario}'}}]\n")
    found = ask(policy, "v1", runs)
    return [] if found.open else [one.reason for one in found.reasons]


def test_a_run_of_the_scenario_itself_opens_the_gate(runs, tmp_path):
    lived(runs, find_scenario(SCENARIO))
    assert said(runs, tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "which"),
    [
        ({"faults": []}, "faults differs"),
        ({"hold_to": "at-least-once"}, "hold_to differs"),
        ({"claims": "FAIL", "anomalies": ["lost"]}, "anomalies, claims differ"),
        ({"ends": "failed"}, "ends differs"),
        ({"lives": "in_turns"}, "lives differs"),
        ({"restart": {"strategy": "none"}}, "restart differs"),
    ],
)
def test_a_weaker_plan_under_the_same_name_closes_it(changes, which, runs, tmp_path):
    lived(runs, find_scenario(SCENARIO), **changes)
    assert said(runs, tmp_path) == [
        f"Its plan is not the scenario's, because {which}; run the scenario that the policy names"
    ]


def test_a_plan_that_may_skip_input_closes_it(runs, tmp_path):
    plan = read_object(make_plan(find_scenario(SCENARIO), 2, runs).plan)
    plan["queries"][0]["source_options"] = {"failOnDataLoss": False}
    lived(runs, find_scenario(SCENARIO), queries=plan["queries"])
    (reason,) = said(runs, tmp_path)
    assert "because source_options differs" in reason


def test_less_input_or_another_moment_close_it_too(runs, tmp_path):
    plan = read_object(make_plan(find_scenario(SCENARIO), 2, runs).plan)
    input_of(plan)["options"]["events"] = 100
    faults = [plan["faults"][0] | {"when": {"committed": 0.01}}]
    lived(runs, find_scenario(SCENARIO), inputs=plan["inputs"], faults=faults)
    (reason,) = said(runs, tmp_path)
    assert "because faults, workload differ" in reason


def test_a_plan_without_demands_closes_it(runs, tmp_path):
    lived(runs, find_scenario(SCENARIO), faults=[{"name": "kill_driver"}])
    (reason,) = said(runs, tmp_path)
    assert "because it cannot be read" in reason


def mine(folder, text=MINE):
    folder.mkdir()
    (folder / "mine.yaml").write_text(text)
    (folder / "records.jsonl").write_text('{"value": "a"}\n')
    (folder / "reference.py").write_text("def totals(): ...\n")
    (folder / "reader.py").write_text("def rows(): ...\n")
    return str(folder / "mine.yaml")


def test_the_scenario_of_a_file_is_the_same_in_another_folder(runs, tmp_path):
    lived(runs, find_scenario(mine(tmp_path / "here")))
    assert said(runs, tmp_path, mine(tmp_path / "there")) == []


def test_fewer_columns_that_are_compared_close_it(runs, tmp_path):
    less = MINE.replace(", n: bigint", "")
    lived(runs, find_scenario(mine(tmp_path / "here", less)))
    (reason,) = said(runs, tmp_path, mine(tmp_path / "there"))
    assert "because columns differs" in reason


@pytest.mark.parametrize(
    "one", [*load_catalogue(), *read_file(STRANGERS)], ids=lambda one: one.name
)
def test_every_plan_makes_the_demands_of_its_scenario(one):
    plan = plan_of(one, 7, deciding_files(one), Subject("v1", {}), {}).named("run_1").document
    assert not_demanded(json.loads(json.dumps(plan)), demands_of(one)) == ""
