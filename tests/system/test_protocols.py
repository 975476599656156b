"""A run whose driver crashes at steps of a protocol, and mutations of the evidence of that run.

All of it is `long`. In CI steps are struck by tests/contract/test_sinks_in_jobs.py, one in a whole
run by test_pytest_suite.py; tests/unit/judging alters evidence that is written by hand.
`make prove` strikes every step (`PART=crash_points`) and has every mutation (`PART=evidence`).
"""

import os
from random import Random, SystemRandom

import pytest

from onceproof.table.visit import KAFKA, visit
from tests.conftest import healed
from tests.prove.evidence import found_in, judge_all, unexplained

# Great Expectations, which is imported in this process, uses deprecated functions.
pytestmark = [
    *(pytest.mark.stack, pytest.mark.spark, pytest.mark.system, pytest.mark.long),
    pytest.mark.filterwarnings("ignore"),
]


# The steps around the decision; `make prove PART=crash_points` strikes at all steps of every sink,
# and tests/contract/test_sinks_in_jobs.py at each step of most.
STEPS = ("all_pre_committed", "decided", "commit_half")
DRAWN = 100


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("visited")


@pytest.fixture(scope="module")
def visited(warm_stack, runs):
    healed(warm_stack, Random(7))
    return visit("two_phase_table", KAFKA, STEPS, warm_stack, runs)


def test_two_phase_commit_is_exact_after_a_crash_at_each_step(visited):
    assert visited.document["verdict"] == "PASS", visited.document["reasons"]
    assert [(step.landed, step.outcome) for step in visited.steps] == [(True, "PASS")] * 3


@pytest.mark.usefixtures("visited")
def test_drawn_mutations_of_the_evidence_are_detected(runs):
    seed = int(os.environ.get("SEED") or SystemRandom().randrange(2**32))
    found = judge_all(found_in(runs), seed, DRAWN)
    assert len(found) == DRAWN
    assert unexplained(found) == [], f"repeat this draw with SEED={seed}"


def test_two_phase_commit_into_a_topic_is_exact_too(stack, tmp_path):
    found = visit("two_phase_topic", KAFKA, ("decided",), stack, tmp_path)
    assert found.document["verdict"] == "PASS", found.document["reasons"]
    assert [(step.landed, step.outcome) for step in found.steps] == [(True, "PASS")]
