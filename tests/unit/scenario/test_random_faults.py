"""Faults drawn from a seed: those that fit, and the same for the same seed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onceproof.errors import RequestError
from onceproof.faults.registry import draws
from onceproof.phases.plan import make_plan
from onceproof.runs.plan import Plan
from onceproof.scenario import find_scenario, load_catalogue
from onceproof.scenario.catalogue import read_file, read_text
from onceproof.scenario.model import fields_of, to_yaml
from onceproof.scenario.random_faults import fitting, with_random_faults
from tests.repo.tree import ROOT

CALM = [one for one in load_catalogue() if one.name.endswith("__calm")]
NAMES = [one.name for one in CALM]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(CALM), st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_drawn_faults_fit_and_are_the_same_for_the_same_seed(scenario, seed, count):
    drawn = with_random_faults(scenario, seed, count)
    assert len(drawn.faults) == count
    assert drawn == with_random_faults(scenario, seed, count)


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_of_drawn_faults_is_a_scenario_file_that_makes_the_same_plan(name, tmp_path):
    drawn = with_random_faults(find_scenario(name), 11, 12)
    run = make_plan(drawn, 11, tmp_path / "runs")
    plan = Plan.read(run.plan)
    assert plan.replay == f"onceproof run {name} --seed 11 --random 12"
    [again] = read_text(to_yaml(fields_of(plan)), "shrunk.yaml")
    assert (again.name, again.faults, again.restart) == (drawn.name, drawn.faults, drawn.restart)
    assert (again.jobs, again.inputs, again.queries) == (drawn.jobs, drawn.inputs, drawn.queries)
    assert again.claim == drawn.claim


def test_other_seeds_draw_other_faults_and_some_strike_at_once():
    scenario = find_scenario("copy_events__upsert_table__calm")
    plans = [with_random_faults(scenario, seed, 6).faults for seed in range(8)]
    assert len(set(map(str, plans))) == 8
    moments = [fault.when.get("committed") for faults in plans for fault in faults]
    shares = [one for one in moments if one is not None]
    assert len(set(shares)) < len(shares)


def test_a_store_is_struck_where_the_sink_has_one():
    def struck(name):
        return {one.target for one in fitting(find_scenario(name))}

    assert "store" in struck("copy_events__upsert_table__calm")
    assert "store" not in struck("copy_events__batch_folder__calm")
    assert len(fitting(find_scenario("copy_events__upsert_table__calm"))) == len(draws())


@pytest.mark.parametrize("count", [0, 51])
def test_a_number_out_of_range_is_refused(count):
    with pytest.raises(RequestError, match=f"{count}.*50"):
        with_random_faults(CALM[0], 1, count)


def test_a_scenario_that_claims_what_its_own_faults_show_gets_no_others():
    control = find_scenario("sliding_counts__append_table__unaligned")
    with pytest.raises(RequestError, match=control.name):
        with_random_faults(control, 1, 3)


def test_a_job_of_a_user_is_restored_from_its_plan_too(tmp_path):
    file = ROOT / "tests/system/strangers/orders.yaml"
    for scenario in read_file(file):
        run = make_plan(scenario, 3, tmp_path / "runs")
        [again] = read_text(to_yaml(fields_of(Plan.read(run.plan))), "shrunk.yaml", str(tmp_path))
        assert (again.faults, again.input) == (scenario.faults, scenario.input)
        assert again.output.sink == scenario.output.sink
        assert again.output.reference == scenario.output.reference
        assert again.output.declared == scenario.output.declared


def test_unexplained_and_effect_are_restored_from_a_plan(tmp_path):
    scenario = find_scenario("app_views__upsert_table__kill_executor")
    allowed = replace(scenario, unexplained="allowed")
    plan = Plan.read(make_plan(allowed, 3, tmp_path / "runs").plan)
    assert (plan.unexplained, plan.faults[0].effect) == ("allowed", "retried")
    [again] = read_text(to_yaml(fields_of(plan)), "shrunk.yaml")
    assert (again.unexplained, again.faults) == ("allowed", scenario.faults)
    [resolved] = read_text(to_yaml(allowed.fields()), "resolved.yaml")
    assert resolved.unexplained == "allowed"
