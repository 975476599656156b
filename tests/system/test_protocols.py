"""Each step of a protocol struck in one run."""

import pytest

from tests.prove.crash_points import visit

# Great Expectations is imported in this process, and what it still uses is not ours to change.
pytestmark = [
    *(pytest.mark.stack, pytest.mark.spark, pytest.mark.system),
    pytest.mark.filterwarnings("ignore"),
]


# The steps between which the decision falls; `make prove PART=crash_points` strikes at all of them,
# of every sink, the controls among them.
STEPS = ("pre_committed", "all_pre_committed", "decided", "commit_half", "committed")


def test_two_phase_commit_is_exact_whichever_step_was_the_last(stack, tmp_path):
    found = visit("two_phase_table", 7, tmp_path, stack.state.folder, STEPS)
    assert found["verdict"] == "PASS", found["reasons"]
    assert [fault["landed"] for fault in found["faults"]] == [True] * 5


def test_two_phase_commit_into_a_topic_is_exact_too(stack, tmp_path):
    found = visit("two_phase_topic", 7, tmp_path, stack.state.folder, ("decided", "commit_half"))
    assert found["verdict"] == "PASS", found["reasons"]
    assert [fault["landed"] for fault in found["faults"]] == [True] * 2
