"""The scenarios of the long proofs can be read, and hold what the proofs say."""

from itertools import pairwise

import pytest
import yaml

from onceproof.failpoints import SEEN
from onceproof.guarantee import Guarantee
from onceproof.scenario.reading import read_text
from onceproof.sinks import SINKS, find_sink
from tests.prove import leftovers, mixed, seeds_case

EXACT = [one for one in SINKS if find_sink(one).guarantee is Guarantee.EXACTLY_ONCE]


def scenario(fields):
    (found,) = read_text(yaml.safe_dump(fields), "proof.yaml")
    return found


@pytest.mark.parametrize("sink", EXACT)
def test_half_an_hour_has_three_kinds_of_faults_every_twenty_to_sixty_seconds(sink):
    found = scenario(mixed.fields_of(sink, mixed.MINUTES))
    assert found.workload.options["events"] == 5_000_010
    assert len({fault.target for fault in found.faults}) == 3
    at = [fault.when["acknowledged"] * 1800 for fault in found.faults]
    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert min(gaps) > 19.5
    assert max(gaps) < 60.5
    assert 30 <= len(at) <= 80


def test_every_step_is_struck_two_batches_apart():
    steps = (*SEEN, *find_sink(seeds_case.SINK).steps)
    found = scenario(seeds_case.fields_of(steps))
    assert [fault.when["failpoint"] for fault in found.faults] == list(steps)
    assert found.workload.options["rate"] == 10_000
    assert found.pipeline.options["trigger"] == "6 seconds"


def test_what_is_left_over_can_be_a_run():
    assert len(scenario(leftovers.FIELDS).faults) >= 5
