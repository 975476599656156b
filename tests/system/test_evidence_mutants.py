"""A real run whose evidence is changed in one place at a time: the judge notices each change."""

import os
from random import SystemRandom

import pytest

from onceproof.phases.plan import make_plan
from onceproof.phases.whole_run import live_run
from tests.prove.evidence import found_in, judge_all, small, unexplained

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
DRAWN = 200


def test_drawn_mutations_of_the_evidence_are_noticed(stack, tmp_path):
    run = make_plan(small("two_phase_table"), 7, tmp_path)
    assert live_run(run, stack.state.folder).as_claimed
    seed = int(os.environ.get("SEED") or SystemRandom().randrange(2**32))
    found = judge_all(found_in(tmp_path), seed, DRAWN)
    assert len(found) == DRAWN
    assert unexplained(found) == [], f"repeat this draw with SEED={seed}"
