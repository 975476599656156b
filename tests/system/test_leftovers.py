"""Any process of the harness is killed at any moment: its strikes are healed by the plan.

`make prove PART=leftovers` has thirty rounds.
"""

from random import Random

import pytest

from tests.prove.leftovers import visit

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


def test_nothing_is_left_of_runs_whose_harness_was_killed(linked_stack, tmp_path):
    rng = Random(44)  # the command alone is killed in test_runs_cut_off.py
    rounds = [visit(linked_stack, tmp_path, rng) for _ in range(2)]
    assert [one.left for one in rounds] == [()] * 2
    assert [one.whom for one in rounds] == ["agent", "both"]
    assert all(one.struck for one in rounds)
