"""A gate that asks for a rate is not opened by running until green."""

from dataclasses import replace

import pytest

from onceproof.errors import RequestError
from onceproof.gates.decide import Kind
from onceproof.gates.policy import read_text
from onceproof.past.entry import NEVER_JUDGED, begun_entry
from onceproof.past.issues import issue_of
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from tests.plans import plan_document
from tests.unit.gates.test_gate_decision import closed, gate
from tests.unit.verdict_entries import NOW, SCENARIO, good, red, unknown

REASONS = {
    "one_of_two": "As claimed: 1 of the newest 2 runs, but the rate must be 1",
    "nine_of_twelve": "As claimed: 9 of the newest 12 runs, but the rate must be 0.95",
    "one_of_three": "As claimed: 1 of the newest 3 runs, but the rate must be 0.5",
    "flaky_seed": "Flaky: of 10 runs with seed 7, 9 not as claimed",
    "flaky_unknown": "Flaky: 1 of the newest 2 runs UNKNOWN",
    "effect": (
        "Faults that struck in the newest 2 runs, with the effect retried or more: 1, but 2"
        " are required"
    ),
}

NINE_AND_ONE = [
    *(replace(red(one, 20 - one), seed=7, number=one) for one in range(1, 10)),
    replace(good(10, 1), seed=7, number=10),
]
RATE = "As claimed: 1 of the newest 10 runs, but the rate must be 0.95"


def test_nine_failures_and_a_pass_do_not_open_a_gate_that_asks_for_a_rate():
    assert gate(NINE_AND_ONE).open
    assert closed(gate(NINE_AND_ONE, rate=0.95), Kind.FAILURE) == [(RATE, "run_9")]


def test_every_second_seed_failing_does_not_open_it_either():
    mixed = [
        replace((good if one > 9 or one % 3 else red)(one, 20 - one), seed=one, number=one)
        for one in range(1, 13)
    ]
    assert gate(mixed, passes=3, seeds=3).open
    assert closed(gate(mixed, passes=3, seeds=3, rate=0.95), Kind.FAILURE) == [
        (REASONS["nine_of_twelve"], "run_9")
    ]


def test_a_rate_that_is_met_opens_it_and_only_so_many_runs_are_looked_at():
    runs = [*(replace(good(one, one), number=40 - one) for one in range(1, 20)), red(20, 20)]
    assert gate(runs, rate=0.95).open
    assert not gate(runs, rate=0.96).open
    assert gate(runs, rate=1, runs=19).open


def test_a_rate_is_met_by_that_very_share():
    runs = [*map(good, range(1, 8)), *(red(one, one) for one in range(8, 101))]
    assert gate(runs, runs=100, rate=0.07).open


def test_a_rate_missed_for_unknown_runs_alone_is_a_lack():
    runs = [good(1, 1), unknown(2, 2), unknown(3, 3)]
    assert closed(gate(runs, rate=0.5), Kind.LACK) == [(REASONS["one_of_three"], "run_2")]


def test_a_run_whose_evidence_is_altered_is_not_as_claimed_in_the_rate():
    trouble = {"run_2": "Its evidence was altered"}
    found = gate([good(1, 1), good(2, 2)], rate=1, trouble=lambda run: trouble.get(run.run, ""))
    assert [said for said, _ in closed(found, Kind.LACK)] == [REASONS["one_of_two"]]


def test_runs_of_other_code_are_not_in_the_rate():
    other = {f"run_{one}": "It is not of the same code" for one in range(1, 10)}
    decision = gate(NINE_AND_ONE, rate=0.95, other=lambda run, *_: other.get(run.run, ""))
    assert decision.open


def test_a_known_issue_that_is_allowed_counts_as_claimed_in_the_rate():
    issue = replace(issue_of(red(2, 2), "known", NOW.date(), NOW), number=1)
    assert gate([good(1), red(2, 2)], rate=1, issues=[issue], allow=[1]).open
    assert not gate([good(1), red(2, 2)], rate=1, issues=[issue]).open


def test_a_seed_with_both_results_is_flaky_and_refused():
    said = REASONS["flaky_seed"]
    assert closed(gate(NINE_AND_ONE, flaky="refuse"), Kind.FAILURE) == [(said, "run_9")]
    other_seed = [good(1), replace(red(2, 2), seed=2)]
    assert gate(other_seed, flaky="refuse").open


def test_an_unknown_run_is_flaky_and_refused():
    assert closed(gate([good(1), unknown(2, 2)], flaky="refuse"), Kind.LACK) == [
        (REASONS["flaky_unknown"], "run_2")
    ]
    assert gate([good(1), unknown(2, 2)]).open


def test_only_faults_with_the_effect_that_is_asked_for_are_counted():
    runs = [good(1, effects=("felt",)), good(2, 2, effects=("restarted",))]
    assert gate(runs, passes=2, landed=2).open
    assert gate(runs, passes=2, landed=2, effect="felt").open
    assert closed(gate(runs, passes=2, landed=2, effect="retried"), Kind.LACK) == [
        (
            REASONS["effect"],
            "run_1",
        )
    ]


@pytest.mark.parametrize("effects", [(), ("",), ("none",)])
def test_a_fault_without_a_measured_effect_counts_for_no_effect(effects):
    assert not gate([good(effects=effects)], landed=1, effect="felt").open


def test_an_effect_without_a_number_of_faults_is_refused():
    with pytest.raises(RequestError, match=r"require\[0\]\.effect"):
        read_text(f"require: [{{scenario: {SCENARIO}, effect: felt}}]", "g")


def test_a_run_that_was_begun_and_never_judged_closes_it(tmp_path):
    plan = Plan.of(plan_document(run="run_2", scenario=SCENARIO, seed=1, subject="v1"))
    begun = replace(begun_entry(RunDirectory(tmp_path), plan, NOW), number=2)
    assert closed(gate([good(number=1, hours=2), begun]), Kind.LACK) == [
        (f"UNKNOWN: {NEVER_JUDGED}", "run_2")
    ]
