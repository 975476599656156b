"""The table of nights: the content of cells, their order, and what is never green."""

from dataclasses import replace
from datetime import timedelta

import pytest

from onceproof.past.entry import Night
from onceproof.past.issues import issue_of
from onceproof.web.grid import Standing, make_grid, standing, tally
from tests.unit.verdict_entries import NOW, SCENARIO, good, red, unknown

AS_CLAIMED, UNKNOWN, KNOWN_RED, NEW_RED = Standing
LAST_NIGHT, NIGHT_BEFORE = "2026-03-10", "2026-03-09"


def grid(*entries, issues=(), nights=()):
    return make_grid(entries, issues, NOW, lambda entry: f"report/{entry.run}", nights)


def night(name=LAST_NIGHT, hours=2, **asked):
    """A night that began so many hours ago, and the seeds of each of its scenarios."""
    return Night(name, NOW - timedelta(hours=hours), asked)


def control(number=1, hours=1.0, **changes):
    return red(number, hours, **{"claims": "FAIL", "as_claimed": True} | changes)


def known(entry, days=1):
    return replace(issue_of(entry, "waits", (NOW + timedelta(days)).date(), NOW), number=3)


def names(found):
    return [column.name for column in found.columns]


@pytest.mark.parametrize(
    "lie",
    [
        good(verdict="UNKNOWN"),
        good(verdict="FAIL"),
        good(landed=0),
        good(findings={"reads": "UNKNOWN"}),
        control(verdict="PASS"),
        control(landed=0),
    ],
)
def test_a_row_that_is_as_claimed_without_proof_is_unknown(lie):
    assert standing(lie, [], NOW) == (UNKNOWN, None)


def test_a_pass_where_fail_was_claimed_is_red():
    assert standing(good(claims="FAIL", as_claimed=False), [], NOW) == (NEW_RED, None)


def test_a_control_that_failed_as_claimed_is_green():
    found, _ = standing(control(), [], NOW)
    assert (found, found.grade) == (AS_CLAIMED, "PASS")


def test_a_known_red_run_is_distinguished_and_names_its_issue():
    issue = known(red())
    assert standing(red(2), [issue], NOW) == (KNOWN_RED, issue)
    assert standing(red(2, broken=("lost",)), [issue], NOW) == (NEW_RED, None)


def test_an_expired_issue_is_new_red_again():
    issue = known(red(), days=1)
    assert standing(red(2), [issue], NOW + timedelta(days=1))[0] is KNOWN_RED
    assert standing(red(2), [issue], NOW + timedelta(days=2))[0] is NEW_RED


def test_a_cell_shows_the_worst_of_its_runs_and_the_newest_of_those():
    runs = [good(1, 1), red(2, 3), red(3, 2), unknown(4, 0.5)]
    [row] = grid(*(replace(run, night=LAST_NIGHT) for run in runs)).rows
    [cell] = row.cells
    assert cell.worst.standing is NEW_RED
    assert [run.entry.run for run in cell.runs] == ["run_3", "run_2", "run_4", "run_1"]


def test_a_scenario_that_was_not_run_in_a_night_has_no_verdict_there():
    runs = good(1, 30, scenario="a", night=NIGHT_BEFORE), good(2, scenario="b", night=LAST_NIGHT)
    found = grid(*runs)
    assert [(row.scenario, row.cells[0].runs == ()) for row in found.rows] == [
        ("a", True),
        ("b", False),
    ]


def test_nights_stand_newest_first_whatever_they_are_called():
    runs = good(1, 2, night="b"), good(2, 30, night="c"), good(3, 60, night="a")
    assert names(grid(*runs)) == ["b", "c", "a"]


def test_only_the_newest_nights_are_shown():
    runs = [good(number, 24 * number, night=f"night {number}") for number in range(20)]
    assert names(grid(*runs)) == [f"night {number}" for number in range(14)]


def test_a_run_outside_a_night_is_under_its_day_and_not_in_the_night_of_that_name():
    runs = good(1, 1), good(2, 2, night="2026-03-10")
    found = grid(*runs)
    assert [(one.name, one.outside) for one in found.columns] == [
        ("2026-03-10", True),
        ("2026-03-10", False),
    ]


def test_rows_stand_from_new_red_to_as_claimed_and_by_name_within():
    runs = [
        good(1, scenario="d"), good(2, scenario="c"), unknown(3, scenario="b"),
        red(4, scenario="a"), red(5, scenario="e"), red(6, scenario="f"),
    ]  # fmt: skip
    found = grid(*(replace(run, night=LAST_NIGHT) for run in runs), issues=[known(runs[3])])
    assert [row.scenario for row in found.rows] == ["e", "f", "a", "b", "c", "d"]


def test_a_green_run_by_hand_does_not_hide_the_red_night_before_it():
    found = grid(good(1, 1), red(2, 5, night=LAST_NIGHT), good(3, 30, night=NIGHT_BEFORE))
    assert found.rows[0].standing is NEW_RED


def test_a_red_night_long_ago_does_not_make_a_scenario_red():
    found = grid(good(1, 1, night=LAST_NIGHT), red(2, 30, night=NIGHT_BEFORE))
    assert found.rows[0].standing is AS_CLAIMED
    assert found.rows[0].cells[1].worst.standing is NEW_RED


def test_without_nights_the_newest_day_counts():
    assert grid(good(1, 1), red(2, 30)).rows[0].standing is AS_CLAIMED


def test_the_headline_is_the_worst_of_the_newest_night():
    last = {"night": LAST_NIGHT}
    runs = good(1, scenario="a", **last), red(2, scenario="b", **last), unknown(3, 0.5)
    found = tally(grid(*runs, nights=[night(a=[1], b=[2], c=[3])]), NOW)
    assert (found.night.name, found.headline, found.grade) == (LAST_NIGHT, "1 new red", "FAIL")
    assert found.sentence == "1 new red, 1 as claimed, 1 not run"


def test_a_night_in_which_something_was_not_run_is_not_green():
    runs = good(1, 30, scenario="a", night=NIGHT_BEFORE), good(2, scenario="b", night=LAST_NIGHT)
    found = tally(grid(*runs, nights=[night(a=[1], b=[2])]), NOW)
    assert (found.headline, found.grade) == ("1 not run", "UNKNOWN")


def test_a_seed_that_was_not_run_is_missing():
    found = tally(grid(good(1, night=LAST_NIGHT), nights=[night(**{SCENARIO: [1, 2, 3]})]), NOW)
    assert (found.headline, found.grade) == ("2 not run", "UNKNOWN")


def test_a_night_is_not_asked_for_what_others_ran():
    runs = good(1, 30, scenario="a", night=NIGHT_BEFORE), good(2, scenario="b", night=LAST_NIGHT)
    found = tally(grid(*runs, good(3, scenario="by_hand"), nights=[night(b=[2])]), NOW)
    assert (found.headline, found.grade) == ("All as claimed", "PASS")


def test_a_night_that_ran_nothing_is_the_newest_all_the_same():
    found = grid(good(1, 30, night=NIGHT_BEFORE), nights=[night(**{SCENARIO: [2], "never": [2]})])
    assert names(found) == [LAST_NIGHT, NIGHT_BEFORE]
    assert [(row.scenario, row.standing) for row in found.rows] == [
        ("never", UNKNOWN),
        (SCENARIO, AS_CLAIMED),
    ]
    said = tally(found, NOW)
    assert (said.headline, said.sentence, said.grade) == ("Nothing was run", "2 not run", "UNKNOWN")


def test_a_green_night_without_a_record_is_not_green():
    found = tally(grid(good(1, night=LAST_NIGHT)), NOW)
    assert (found.headline, found.grade) == ("Unknown if complete", "UNKNOWN")
    assert found.sentence == "1 as claimed, no record of the requested runs"


def test_a_night_begins_at_its_recorded_time_or_else_at_its_first_end():
    runs = good(1, 1, night=LAST_NIGHT), good(2, 29, night="b"), good(3, 30, night="b")
    found = grid(*runs, nights=[night(hours=2)])
    ages = [(NOW - column.at) / timedelta(hours=1) for column in found.columns]
    assert ages == [2, 30]


def test_a_night_is_green_when_all_was_run_and_is_as_claimed():
    runs = good(1, night=LAST_NIGHT), control(2, scenario="b", night=LAST_NIGHT)
    found = tally(grid(*runs, nights=[night(**{SCENARIO: [1], "b": [2]})]), NOW)
    assert (found.headline, found.grade) == ("All as claimed", "PASS")


def test_a_green_night_that_another_should_have_followed_is_not_green():
    old = grid(good(1, hours=37, night=NIGHT_BEFORE))
    assert (tally(old, NOW).headline, tally(old, NOW).grade) == ("No night since", "UNKNOWN")
    by_hand = tally(grid(good(1, hours=37)), NOW)
    assert (by_hand.headline, by_hand.grade) == ("All as claimed", "PASS")


def test_no_runs_are_no_green_night():
    found = tally(grid(), NOW)
    assert (found.headline, found.grade) == ("Nothing was run", "UNKNOWN")
