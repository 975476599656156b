"""Shrinking a failing run, with simulated runs whose failure is a function of their plan."""

import json

import pytest

from onceproof.errors import RequestError
from onceproof.phases.judge import judge_run
from onceproof.phases.plan import make_plan
from onceproof.phases.shrink import shrink
from onceproof.scenario import find_scenario
from onceproof.scenario.catalogue import read_text
from onceproof.scenario.model import to_yaml
from onceproof.scenario.random_faults import with_random_faults


def verdict(grade, *, lost=0, broken="rows"):
    return {
        "verdict": grade,
        "seed": 3,
        "allowed": ["torn"],
        "findings": [
            {"checker": broken, "verdict": grade},
            {"checker": "state", "verdict": "PASS"},
        ],
        "differences": {"lost": lost, "torn": 4},
    }


class Simulated:
    """Simulated runs that fail if they have all guilty faults and enough input."""

    def __init__(self, folder, guilty, least_events):
        scenario = with_random_faults(find_scenario("copy_events__upsert_table__calm"), 3, 5)
        self.run = make_plan(scenario, 3, folder)
        self.run.verdict.write_text(json.dumps(verdict("FAIL", lost=2)))
        self.guilty = {scenario.faults[number].name for number in guilty}
        self.least_events, self.lived = least_events, []

    def live(self, fields, seed):
        self.lived.append(fields)
        assert seed == 3
        there = {one["name"] for one in fields["faults"]}
        fails = self.guilty <= there and fields["workload"]["events"] >= self.least_events
        return verdict("FAIL", lost=7) if fails else verdict("UNKNOWN", broken="faults_landed")

    def shrink(self, at_most=50):
        return shrink(self.run, self.live, lambda _: None, at_most)


def scenario_of(fields):
    """Return the scenario of the printed file."""
    (found,) = read_text(to_yaml(fields), "shrunk.yaml")
    return found


@pytest.mark.parametrize("guilty", [[2], [0, 3], [1, 2, 4]])
def test_the_guilty_faults_and_half_the_input_are_left(guilty, tmp_path):
    simulated = Simulated(tmp_path, guilty, 6000)
    found, is_smaller = simulated.shrink()
    assert is_smaller
    assert {one["name"] for one in found["faults"]} == simulated.guilty
    assert found["workload"]["events"] == 10_000
    assert found["name"] == "copy_events__upsert_table__random_5_shrunk"
    assert scenario_of(found).name == found["name"]


def test_candidates_have_other_names_than_the_run(tmp_path):
    simulated = Simulated(tmp_path, [1, 2, 4], 1)
    simulated.shrink()
    names = {fields["name"] for fields in simulated.lived}
    assert names == {
        "copy_events__upsert_table__calm_shrunk",
        "copy_events__upsert_table__random_5_shrunk",
    }


@pytest.mark.parametrize(
    ("fault", "shrunk"),
    [
        ("x" * 93, f"{'x' * 86}_shrunk"),
        (f"{'x' * 85}_{'y' * 7}", f"{'x' * 85}_shrunk"),
        ("kill_shrunk", "kill_shrunk_shrunk"),
    ],
)
def test_a_shrunk_name_is_another_one_and_no_longer_than_a_name_may_be(fault, shrunk, tmp_path):
    simulated = Simulated(tmp_path, [1], 6000)
    plan = json.loads(simulated.run.plan.read_text())
    plan["scenario"] = f"copy_events__upsert_table__{fault}"
    simulated.run.plan.write_text(json.dumps(plan))
    found = simulated.shrink()[0]
    assert scenario_of(found).name == f"copy_events__upsert_table__{shrunk}"


def test_a_run_that_cannot_be_shrunk_keeps_its_name(tmp_path):
    found, is_smaller = Simulated(tmp_path, [0, 1, 2, 3, 4], 20_000).shrink()
    assert (found["name"], is_smaller) == ("copy_events__upsert_table__random_5", False)


def test_a_run_that_fails_without_any_fault_is_left_without_any(tmp_path):
    found, _ = Simulated(tmp_path, [], 1).shrink()
    assert (found["faults"], found["name"]) == ([], "copy_events__upsert_table__calm_shrunk")
    assert scenario_of(found).faults == ()
    assert 100 <= found["workload"]["events"] < 200


def test_the_number_of_candidates_is_limited(tmp_path):
    simulated = Simulated(tmp_path, [0, 1, 2, 3, 4], 20_000)
    found, is_smaller = simulated.shrink(at_most=4)
    assert (len(simulated.lived), is_smaller, len(found["faults"])) == (4, False, 5)


def test_another_failure_is_not_the_same(tmp_path):
    simulated = Simulated(tmp_path, [0], 1)
    simulated.live = lambda *_: verdict("FAIL", lost=1, broken="state")
    assert simulated.shrink()[1] is False


def test_a_run_that_passed_or_is_incomplete_is_refused(tmp_path):
    simulated = Simulated(tmp_path, [0], 1)
    simulated.run.verdict.write_text(json.dumps(verdict("PASS")))
    with pytest.raises(RequestError, match="passed"):
        simulated.shrink()
    simulated.run.verdict.write_text("{}")
    with pytest.raises(RequestError, match="'verdict'"):
        simulated.shrink()
    simulated.run.plan.unlink()
    with pytest.raises(RequestError, match=r"plan\.json"):
        simulated.shrink()


def test_the_document_of_a_real_judge_has_a_way(tmp_path):
    simulated = Simulated(tmp_path, [0], 1)
    judge_run(simulated.run.root)
    simulated.live = lambda *_: json.loads(simulated.run.verdict.read_text())
    found, _ = simulated.shrink()
    assert found["faults"] == []
