"""Every step of a sink's protocol struck in one run; and those who were replaced and go on."""

import pytest

from tests.prove.crash_points import visit

# Great Expectations is imported in this process, and what it still uses is not ours to change.
pytestmark = [
    *(pytest.mark.stack, pytest.mark.spark, pytest.mark.system),
    pytest.mark.filterwarnings("ignore"),
]


def test_the_control_repeats_batches_and_loses_nothing(stack, tmp_path):
    found = visit("append_table", 7, tmp_path, stack.state.folder)
    assert (found["verdict"], found["as_claimed"]) == ("FAIL", True), found["reasons"]
    assert all(fault["landed"] for fault in found["faults"])
    assert found["differences"]["duplicated"] > 0
    assert found["differences"]["lost"] == 0


def test_two_phase_commit_is_exact_whichever_step_was_the_last(stack, tmp_path):
    found = visit("two_phase_table", 7, tmp_path, stack.state.folder)
    assert found["verdict"] == "PASS", found["reasons"]
    assert len(found["faults"]) == 11
    assert all(fault["landed"] for fault in found["faults"])
