"""The scenarios of the long proofs can be read, and hold what the proofs say."""

from itertools import pairwise

import pytest
import yaml

from onceproof.failpoints import SEEN
from onceproof.guarantee import Guarantee
from onceproof.scenario.catalogue import read_text
from onceproof.sinks import SINKS, find_sink
from tests.prove import catalogue, kept, leftovers, mixed, nights_cut_off, seeds_case

EXACT = [one for one in SINKS if find_sink(one).guarantee is Guarantee.EXACTLY_ONCE]


def scenario(fields):
    (found,) = read_text(yaml.safe_dump(fields), "proof.yaml")
    return found


@pytest.mark.parametrize("sink", EXACT)
def test_half_an_hour_has_three_kinds_of_faults_every_twenty_to_sixty_seconds(sink):
    found = scenario(mixed.fields_of(sink, mixed.MINUTES))
    assert found.input.options["events"] == 5_000_010
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
    assert found.input.options["rate"] == 10_000
    assert found.job.options["trigger"] == "6 seconds"


def test_what_is_left_over_can_be_a_run():
    assert len(scenario(leftovers.FIELDS).faults) >= 5


def test_a_night_that_is_cut_off_can_be_a_run():
    assert [fault.target for fault in scenario(nights_cut_off.FIELDS).faults] == ["driver"]


def test_the_proof_of_the_catalogue_lists_runs_that_are_not_as_claimed(monkeypatch):
    monkeypatch.setenv("SCENARIO", "copy_events__two_phase_topic__kill_* sliding_*__calm")
    names = {one.name for one in catalogue.asked()}
    assert "copy_events__two_phase_topic__kill_brokers" in names
    assert not [one for one in names if "append" in one]
    good = {"scenario": "b", "verdict": "FAIL", "as_claimed": True, "reasons": ["2 rows lost"]}
    good |= {"differences": {"lost": 2, "stuck": 0}, "landed": [True], "seconds": 3.0}
    good["effects"] = {"kill": catalogue.effect({"degree": "retried", "tasks_failed": 2})}
    bad = {**good, "scenario": "a", "as_claimed": False, "differences": {}, "landed": []}
    bad["effects"] = {}
    said = catalogue.section([good, bad])
    assert said.startswith("2 scenarios of ")
    assert ", seed 7: 1 as claimed." in said
    assert "| `a` | FAIL | NO | none | none planned | none | 3 |\n" in said
    assert "| `b` | FAIL | yes | 1 of 1 | retried (tasks_failed 2) | 2 lost | 3 |\n" in said
    assert said.endswith("- `a`: 2 rows lost")


def test_earlier_results_are_included_once_each(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "onceproof_home", lambda: tmp_path)
    for key, number in (("a", 1), ("b", 2), ("a", 3)):
        kept.Kept("proof").add(key, {"number": number})
    assert [one["number"] for one in kept.Kept("proof").all()] == [3, 2]
    assert kept.Kept("other").all() == []
