"""What must close the gate, then what may open it."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from onceproof.errors import RequestError
from onceproof.gates.decide import Kind, decide
from onceproof.gates.policy import Need, Policy
from onceproof.past.issues import issue_of
from tests.unit.verdict_entries import NOW, SCENARIO, good, red, unknown

REASONS = {
    "future": "in the future",
    "not_allowed": "known issue 1, which the policy does not allow",
    "expired": "Known issue 1 expired on 2026-03-09: 3 rows duplicated",
    "accepted": "Known issue 1 (a defect), accepted: 3 rows",
    "contradiction": "Its row contradicts itself: as claimed, but not proved",
    "met": "As required: runs: 3, seeds: 3, faults that struck: 3",
    "no_run": "No run of version v1, but 1 must pass",
    "other_version": "No run of version v1, but 1 must pass; its newest run is of version v2",
    "few_runs": "Runs of version v1: 1, but 3 must pass",
    "old": "Too old: it ended at 2026-03-08T23:00:00+00:00",
    "unknown": "UNKNOWN: kill_driver left no proof",
    "few_seeds": "Seeds of the newest 2 runs: 1, but 2 are required",
    "few_faults": "Faults that struck in the newest 2 runs: 2, but 3 are required",
}

OTHER = "copy_events__upsert_table__kill_driver"


def sound(*_):
    return ""


def gate(
    entries,
    *,
    version="v1",
    issues=(),
    allow=(),
    trouble=sound,
    other=sound,
    scenario=SCENARIO,
    **asked,
):
    policy = Policy((Need(scenario, **asked),), tuple(allow))
    return decide(policy, version, entries, issues, NOW, trouble, other)


def closed(decision, *kinds):
    """The sentences for which the gate is closed, each of one of these kinds."""
    assert not decision.open
    found = [one for one in decision.reasons if one.kind in (Kind.FAILURE, Kind.LACK)]
    assert {one.kind for one in found} == set(kinds)
    assert decision.exit == (1 if Kind.FAILURE in kinds else 2)
    assert [one for one in decision.reasons if one.kind is Kind.MET] == []
    return [(one.reason, one.run) for one in found]


def test_a_red_run_among_the_newest_closes_it():
    found = gate([good(1), red(2, 2), good(3, 3)], passes=3)
    said = "Not as claimed, FAIL: 3 rows duplicated: not allowed under exactly-once"
    assert closed(found, Kind.FAILURE) == [(said, "run_2")]


def test_a_control_that_passed_closes_it():
    missed = good(
        claims="FAIL", as_claimed=False, reasons=("Claimed to appear, but not seen: lost",)
    )
    assert closed(gate([missed]), Kind.FAILURE) == [
        ("Not as claimed, PASS: Claimed to appear, but not seen: lost", "run_1")
    ]


def test_a_failure_behind_enough_newer_passes_does_not():
    assert gate([good(1), good(2, 2), red(3, 3)], passes=2).open
    assert not gate([good(1), good(2, 2), red(3, 3)], passes=3).open


def test_no_run_closes_it():
    assert closed(gate([]), Kind.LACK) == [(REASONS["no_run"], "")]


def test_no_run_of_this_version_closes_it_and_the_newest_other_is_named():
    assert closed(gate([good(subject="v2")]), Kind.LACK) == [(REASONS["other_version"], "")]


def test_runs_of_another_scenario_count_for_nothing():
    assert not gate([good(scenario=OTHER)]).open


def test_too_few_runs_close_it():
    assert closed(gate([good()], passes=3), Kind.LACK) == [(REASONS["few_runs"], "run_1")]


def test_runs_that_are_too_old_close_it():
    found = gate([good(1), good(2, 37)], passes=2, max_age=timedelta(hours=36))
    assert closed(found, Kind.LACK) == [(REASONS["old"], "run_2")]
    assert gate([good(1, 36)], max_age=timedelta(hours=36)).open


def test_an_unknown_run_among_the_newest_closes_it():
    assert closed(gate([unknown()]), Kind.LACK) == [(REASONS["unknown"], "run_1")]
    assert gate([good(1), unknown(2, 2)]).open


def test_too_few_seeds_close_it():
    found = gate([good(1), good(2, 2, seed=1)], passes=2, seeds=2)
    assert closed(found, Kind.LACK) == [(REASONS["few_seeds"], "run_1")]


def test_too_few_faults_that_struck_close_it():
    found = gate([good(1), good(2, 2)], passes=2, landed=3)
    assert closed(found, Kind.LACK) == [(REASONS["few_faults"], "run_1")]


@pytest.mark.parametrize("version", ["git:9f2c41d+dirty", "unknown", ""])
def test_a_version_that_is_dirty_or_unknown_closes_it_whatever_passed(version):
    found = gate([good(subject=version)], version=version)
    assert (found.open, found.exit) == (False, 2)
    ((said, run),) = [(one.reason, one.run) for one in found.reasons if one.kind is Kind.LACK]
    assert run == ""
    assert "committed" in said or "is unknown" in said


def test_a_green_row_that_contradicts_itself_closes_it():
    for wrong in (
        good(landed=0),
        good(findings={"reads": "UNKNOWN"}),
        good(verdict="FAIL"),
        good(claims=""),
    ):
        ((said, _),) = closed(gate([wrong]), Kind.LACK)
        assert said == REASONS["contradiction"]


def test_a_row_that_is_unknown_and_as_claimed_is_unknown():
    assert not gate([good(verdict="UNKNOWN")]).open


def test_evidence_in_trouble_closes_it():
    found = gate([good()], trouble=lambda run, *_: f"{run.run} was altered")
    assert closed(found, Kind.LACK) == [("run_1 was altered", "run_1")]


def test_only_the_evidence_of_runs_that_count_is_looked_at():
    looked = []
    runs = [good(1), good(2, 2), good(3, subject="v2")]
    gate(runs, trouble=lambda run, *_: looked.append(run.run))
    assert looked == ["run_1"]


def test_a_run_from_the_future_closes_it():
    ((said, _),) = closed(gate([good(hours=-0.01)]), Kind.LACK)
    assert said.endswith(REASONS["future"])


def numbered(*runs):
    """Runs that were recorded in this order."""
    return [replace(run, number=number) for number, run in enumerate(runs, 1)]


@pytest.mark.parametrize("later", [red(2, 2), unknown(2, 2)])
def test_a_run_that_was_recorded_last_and_is_behind_by_its_clock_closes_it(later):
    ((said, run),) = closed(gate(numbered(good(1), later)), Kind.LACK)
    assert run == "run_2"
    assert said.startswith(f"Not as claimed, {later.verdict}; recorded after runs that count")
    assert gate(numbered(later, good(1))).open
    assert gate(numbered(good(1), later, good(3))).open
    closed(gate(numbered(good(1), later, good(3)), passes=2), Kind.LACK)


def test_a_good_run_that_is_recorded_late_hides_no_red_one():
    closed(gate(numbered(red(1), good(2, 2))), Kind.FAILURE)
    assert gate(numbered(good(1), good(2, 2))).open


def test_the_evidence_of_each_run_is_held_against_the_newest_that_counts_with_it():
    looked = []
    runs = [good(1), good(2, 2), good(3, 3)]
    gate(runs, passes=2, other=lambda run, _, first: looked.append((run.run, first.run)))
    assert looked == [("run_1", "run_1"), ("run_2", "run_1")]


def test_a_failure_weighs_more_than_a_lack():
    found = gate([red(1), unknown(2, 2)], passes=3)
    assert len(closed(found, Kind.FAILURE, Kind.LACK)) == 3


def test_one_need_that_is_not_met_closes_it():
    policy = Policy((Need(SCENARIO), Need(OTHER)))
    found = decide(policy, "v1", [good()], [], NOW, sound, sound)
    assert (found.open, found.exit) == (False, 2)
    assert [(one.kind, one.scenario) for one in found.reasons] == [
        (Kind.MET, SCENARIO),
        (Kind.LACK, OTHER),
    ]


def test_a_policy_without_needs_is_never_open():
    assert decide(Policy(()), "v1", [good()], [], NOW, sound, sound).exit == 2


def issue(until=date(2026, 3, 12), number=1, **changes):
    made = issue_of(red(), "a defect", date(2026, 3, 12), NOW)
    return replace(made, number=number, until=until, **changes)


def test_a_known_issue_that_the_policy_does_not_allow_is_a_failure():
    ((said, _),) = closed(gate([red()], issues=[issue()]), Kind.FAILURE)
    assert REASONS["not_allowed"] in said


def test_an_expired_known_issue_is_a_lack():
    found = gate([red()], issues=[issue(until=date(2026, 3, 9))], allow=[1])
    ((said, _),) = closed(found, Kind.LACK)
    assert said.startswith(REASONS["expired"])


def test_another_defect_of_the_same_scenario_is_a_failure():
    lost = red(broken=("lost",), reasons=("1 row lost",))
    closed(gate([lost], issues=[issue()], allow=[1]), Kind.FAILURE)
    closed(gate([red(findings={"state": "FAIL"})], issues=[issue()], allow=[1]), Kind.FAILURE)


def test_no_known_issue_accepts_a_run_in_which_anything_is_unknown():
    half = red(findings={"rows": "FAIL", "faults_landed": "UNKNOWN"}, landed=0)
    closed(gate([half], issues=[issue()], allow=[1]), Kind.FAILURE)
    closed(gate([red(landed=0)], issues=[issue()], allow=[1]), Kind.FAILURE)
    closed(gate([unknown()], issues=[issue()], allow=[1]), Kind.LACK)


def test_a_known_issue_excuses_neither_age_nor_altered_evidence():
    known = {"issues": [issue()], "allow": [1]}
    closed(gate([red(hours=3)], max_age=timedelta(hours=2), **known), Kind.LACK)
    closed(gate([red()], trouble=lambda *_: "altered", **known), Kind.LACK)


def test_a_known_issue_that_the_history_does_not_have_is_a_wrong_request():
    with pytest.raises(RequestError, match="'7'"):
        gate([good()], allow=[7])
    with pytest.raises(RequestError, match=r"'lat'.*'late'"):
        gate([good()], issues=[issue(name="late")], allow=["lat"])
    with pytest.raises(RequestError, match="''"):
        gate([good()], issues=[issue()], allow=[""])


@pytest.mark.parametrize("allow", [1, "late"])
def test_a_known_issue_that_is_allowed_lets_the_run_pass_as_accepted(allow):
    found = gate([good(1), red(2, 2)], passes=2, issues=[issue(name="late")], allow=[allow])
    assert (found.open, found.exit) == (True, 0)
    kinds = [(one.kind, one.run) for one in found.reasons]
    assert kinds == [(Kind.ACCEPTED, "run_2"), (Kind.MET, "run_1")]
    assert found.reasons[0].reason.startswith(REASONS["accepted"])


def test_enough_fresh_passes_open_it():
    runs = [good(number, number) for number in (1, 2, 3)]
    found = gate(runs, passes=3, seeds=3, landed=3, max_age=timedelta(hours=4))
    assert (found.open, found.exit, found.version) == (True, 0, "v1")
    assert [one.reason for one in found.reasons] == [REASONS["met"]]


def test_a_control_that_failed_as_claimed_opens_it():
    assert gate([red(claims="FAIL", as_claimed=True)]).open


def test_the_order_of_the_rows_does_not_matter():
    assert not gate([good(2, 2), red(1, 1)]).open
