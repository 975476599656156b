"""The harness is killed while its strikes are in force: they are healed by the plan.

Here the command and the agent are killed, each alone in test_runs_cut_off.py;
`make prove PART=leftovers` has thirty rounds.
"""

from random import Random

import pytest

from tests.prove.leftovers import visit

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


def test_nothing_is_left_of_a_run_whose_harness_was_killed(linked_stack, tmp_path):
    found = visit(linked_stack, tmp_path, Random(6))
    assert (found.whom, found.left) == ("both", ())
    assert found.struck > 0
