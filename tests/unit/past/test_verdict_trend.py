"""How scenarios have fared, as numbers."""

from onceproof.past.trend import Trend, trends
from tests.unit.verdict_entries import SCENARIO, good, red, unknown


def test_no_run_is_no_trend():
    assert trends([]) == []


def test_the_trend_of_a_scenario_has_rates_and_recoveries():
    runs = [good(1), good(2, recovery_s=2.5), red(3, recovery_s=9.0), good(4, recovery_s=None)]
    assert trends(runs) == [Trend(SCENARIO, 4, 0.75, 4.5, 9.0, 0.0)]


def test_an_unknown_run_is_flaky_and_so_are_both_results_of_one_version_and_seed():
    runs = [good(1), red(2, seed=1), good(3), unknown(4), red(5, seed=3, subject="v2")]
    assert trends(runs)[0].flake_rate == 3 / 5


def test_an_unknown_run_does_not_make_a_pass_of_its_seed_flaky():
    assert trends([good(1), unknown(2, seed=1)])[0].flake_rate == 1 / 2


def test_each_scenario_has_its_own_and_none_has_a_recovery_out_of_nothing():
    found = trends([good(scenario="b", recovery_s=None), good(2, scenario="a")])
    assert [(one.scenario, one.recovery_median_s) for one in found] == [("a", 4.5), ("b", None)]
