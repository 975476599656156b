from random import Random

import pytest

from onceproof.errors import RequestError
from onceproof.runs.restart import STRATEGIES, strategy_of


def pauses(restart, times):
    strategy = strategy_of(restart, Random(7))
    return [strategy.delay_s(now) for now in times]


def test_none_gives_up_at_the_first_failure():
    assert pauses({"strategy": "none"}, [1]) == [None]


def test_fixed_delay_gives_up_after_its_attempts_however_far_apart():
    restart = {"strategy": "fixed-delay", "attempts": 2, "delay_s": 0.5}
    assert pauses(restart, [1, 1000, 100_000]) == [0.5, 0.5, None]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([0, 1, 2], [3, 3, None]),  # the third within 10 s is one too many
        ([0, 5, 10], [3, 3, None]),  # the oldest is not older than the interval
        ([0, 5, 10.1, 15.2], [3, 3, 3, 3]),
        ([0, 5, 10.1, 11], [3, 3, 3, None]),
    ],
)
def test_failure_rate_gives_up_at_one_more_than_its_failures_within_the_interval(times, expected):
    restart = {"strategy": "failure-rate", "max_failures": 2, "interval_s": 10, "delay_s": 3}
    assert pauses(restart, times) == expected


def test_exponential_delay_grows_to_its_limit_and_restarts_after_a_healthy_run():
    restart = {"strategy": "exponential-delay", "initial_s": 1, "max_s": 5, "factor": 2}
    restart |= {"jitter": 0, "reset_after_s": 100}
    assert pauses(restart, [1000, 1001, 1003, 1007, 1012, 1117]) == [1, 2, 4, 5, 5, 1]


def test_jitter_comes_from_the_seed_and_stays_within_its_share():
    restart = {"strategy": "exponential-delay", "initial_s": 10, "max_s": 10, "factor": 1}
    restart |= {"jitter": 0.1, "reset_after_s": 100}
    drawn = pauses(restart, range(50))
    assert drawn == pauses(restart, range(50))
    assert len(set(drawn)) > 40
    assert all(9 <= pause <= 11 for pause in drawn)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(RequestError, match="'fixed'"):
        strategy_of({"strategy": "fixed"}, Random(7))


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "none"])
def test_a_setting_that_is_missing_is_named(name):
    with pytest.raises(RequestError, match=list(STRATEGIES[name])[-1]):
        strategy_of({"strategy": name}, Random(7))
