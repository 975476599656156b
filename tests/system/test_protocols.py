"""Each step of a protocol struck in one run."""

import pytest

from onceproof.table.visit import KAFKA, visit

# Great Expectations is imported in this process, and what it still uses is not ours to change.
pytestmark = [
    *(pytest.mark.stack, pytest.mark.spark, pytest.mark.system),
    pytest.mark.filterwarnings("ignore"),
]


# The steps between which the decision falls; `make prove PART=crash_points` strikes at all of them,
# of every sink, the controls among them.
STEPS = ("pre_committed", "all_pre_committed", "decided", "commit_half", "committed")


def test_two_phase_commit_is_exact_whichever_step_was_the_last(stack, tmp_path):
    found = visit("two_phase_table", KAFKA, STEPS, stack, tmp_path)
    assert found.document["verdict"] == "PASS", found.document["reasons"]
    assert [(step.landed, step.outcome) for step in found.steps] == [(True, "PASS")] * 5


def test_two_phase_commit_into_a_topic_is_exact_too(stack, tmp_path):
    found = visit("two_phase_topic", KAFKA, ("decided", "commit_half"), stack, tmp_path)
    assert found.document["verdict"] == "PASS", found.document["reasons"]
    assert [(step.landed, step.outcome) for step in found.steps] == [(True, "PASS")] * 2
