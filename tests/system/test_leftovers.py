"""Any process of the harness is killed at any moment: its strikes are healed by the plan."""

from random import Random

import pytest

from tests.prove.leftovers import visit

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


def test_nothing_is_left_of_runs_whose_harness_was_killed(linked_stack, tmp_path):
    rng = Random(4)
    rounds = [visit(linked_stack, tmp_path, rng) for _ in range(5)]
    assert [one.left for one in rounds] == [()] * 5
    assert {one.whom for one in rounds} == {"command", "agent", "both"}
    assert sum(one.struck for one in rounds) >= 3
