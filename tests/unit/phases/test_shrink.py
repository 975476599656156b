"""A failing run made smaller, with runs of paper whose failure is a function of their plan."""

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


class Paper:
    """Runs that fail where the guilty faults are all there, and the input is long enough."""

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
    """The scenario of the file that is printed."""
    (found,) = read_text(to_yaml(fields), "shrunk.yaml")
    return found


@pytest.mark.parametrize("guilty", [[2], [0, 3], [1, 2, 4]])
def test_the_guilty_faults_and_half_the_input_are_left(guilty, tmp_path):
    paper = Paper(tmp_path, guilty, 6000)
    found, is_smaller = paper.shrink()
    assert is_smaller
    assert {one["name"] for one in found["faults"]} == paper.guilty
    assert found["workload"]["events"] == 10_000
    assert found["name"] == "copy_events__upsert_table__random_5_shrunk"
    assert scenario_of(found).name == found["name"]


def test_no_candidate_goes_by_the_name_of_the_run_that_it_is_weaker_than(tmp_path):
    paper = Paper(tmp_path, [1, 2, 4], 1)
    paper.shrink()
    names = {fields["name"] for fields in paper.lived}
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
    paper = Paper(tmp_path, [1], 6000)
    plan = json.loads(paper.run.plan.read_text())
    plan["scenario"] = f"copy_events__upsert_table__{fault}"
    paper.run.plan.write_text(json.dumps(plan))
    found = paper.shrink()[0]
    assert scenario_of(found).name == f"copy_events__upsert_table__{shrunk}"


def test_a_run_of_which_nothing_smaller_fails_keeps_its_name(tmp_path):
    found, is_smaller = Paper(tmp_path, [0, 1, 2, 3, 4], 20_000).shrink()
    assert (found["name"], is_smaller) == ("copy_events__upsert_table__random_5", False)


def test_a_run_that_fails_without_any_fault_is_left_without_any(tmp_path):
    found, _ = Paper(tmp_path, [], 1).shrink()
    assert (found["faults"], found["name"]) == ([], "copy_events__upsert_table__calm_shrunk")
    assert scenario_of(found).faults == ()
    assert 100 <= found["workload"]["events"] < 200


def test_no_more_candidates_are_run_than_was_said(tmp_path):
    paper = Paper(tmp_path, [0, 1, 2, 3, 4], 20_000)
    found, is_smaller = paper.shrink(at_most=4)
    assert (len(paper.lived), is_smaller, len(found["faults"])) == (4, False, 5)


def test_another_failure_is_not_the_same(tmp_path):
    paper = Paper(tmp_path, [0], 1)
    paper.live = lambda *_: verdict("FAIL", lost=1, broken="state")
    assert paper.shrink()[1] is False


def test_a_run_that_passed_or_is_none_has_nothing_to_keep(tmp_path):
    paper = Paper(tmp_path, [0], 1)
    paper.run.verdict.write_text(json.dumps(verdict("PASS")))
    with pytest.raises(RequestError, match="passed: there is no failure to keep"):
        paper.shrink()
    paper.run.verdict.write_text("{}")
    with pytest.raises(RequestError, match="made smaller: there is no 'verdict' in the verdict"):
        paper.shrink()
    paper.run.plan.unlink()
    with pytest.raises(RequestError, match="cannot be made smaller"):
        paper.shrink()


def test_the_document_of_a_real_judge_has_a_way(tmp_path):
    paper = Paper(tmp_path, [0], 1)
    judge_run(paper.run.root)
    paper.live = lambda *_: json.loads(paper.run.verdict.read_text())
    found, _ = paper.shrink()
    assert found["faults"] == []
