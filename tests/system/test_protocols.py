"""A run in which each step of a protocol is struck."""

import pytest

from onceproof.table.visit import KAFKA, visit

# Great Expectations, which is imported in this process, uses deprecated functions.
pytestmark = [
    *(pytest.mark.stack, pytest.mark.spark, pytest.mark.system),
    pytest.mark.filterwarnings("ignore"),
]


# The steps around the decision; `make prove PART=crash_points` strikes at all steps of every sink.
STEPS = ("pre_committed", "all_pre_committed", "decided", "commit_half", "committed")


def test_two_phase_commit_is_exact_after_a_crash_at_each_step(stack, tmp_path):
    found = visit("two_phase_table", KAFKA, STEPS, stack, tmp_path)
    assert found.document["verdict"] == "PASS", found.document["reasons"]
    assert [(step.landed, step.outcome) for step in found.steps] == [(True, "PASS")] * 5


def test_two_phase_commit_into_a_topic_is_exact_too(stack, tmp_path):
    found = visit("two_phase_topic", KAFKA, ("decided", "commit_half"), stack, tmp_path)
    assert found.document["verdict"] == "PASS", found.document["reasons"]
    assert [(step.landed, step.outcome) for step in found.steps] == [(True, "PASS")] * 2
