"""A known issue accepts what one run shows, and nothing else."""

from datetime import date, timedelta

import pytest

from onceproof.errors import RequestError
from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.past.issues import issue_of, matches, result_of
from onceproof.verdict import weigh
from tests.unit.verdict_entries import NOW, good, red, unknown

UNTIL = date(2026, 3, 12)
PROMISE = Promise(Guarantee.EXACTLY_ONCE, atomic_batches=True, ordered=False)
FEWER = "1 row duplicated: not allowed under exactly-once"


def made(entry=None, **changes):
    return issue_of(entry or red(), "a defect", UNTIL, NOW, **changes)


def test_a_run_that_shows_less_or_more_does_not_match():
    issue = made(red(broken=("duplicated", "lost")))
    assert not matches(issue, red(broken=("lost",)), NOW)
    assert not matches(issue, red(broken=("duplicated", "lost", "torn")), NOW)
    assert not matches(
        issue, red(2, broken=("duplicated", "lost"), findings={"state": "FAIL"}), NOW
    )


def test_a_green_run_an_unknown_one_and_another_scenario_do_not_match():
    assert not matches(made(), good(), NOW)
    assert not matches(made(), unknown(broken=("duplicated",)), NOW)
    assert not matches(made(), red(findings={"rows": "FAIL", "reads": "UNKNOWN"}), NOW)
    assert not matches(made(), red(scenario="another"), NOW)


def test_with_a_pattern_each_sentence_must_match_and_no_class_may_be_new():
    issue = made(pattern=r"^\d+ rows duplicated")
    assert not matches(issue, red(reasons=("3 rows duplicated", "state is wrong")), NOW)
    assert not matches(issue, red(broken=("duplicated", "lost")), NOW)
    assert matches(issue, red(reasons=("3 rows duplicated, and more is said",)), NOW)


def test_with_a_pattern_no_checker_may_be_new_but_one_may_pass():
    issue = made(red(findings={"rows": "FAIL", "expectations": "FAIL"}), pattern="duplicated")
    assert matches(issue, red(), NOW)
    assert not matches(issue, red(findings={"rows": "FAIL", "state": "FAIL"}), NOW)


@pytest.mark.parametrize("pattern", ["", "duplicated"])
def test_more_rows_of_a_class_than_it_accepts_do_not_match(pattern):
    def of(count):
        said = f"{count} rows duplicated: not allowed under exactly-once"
        return red(differences={"lost": 0, "duplicated": count}, reasons=(said,))

    assert [matches(made(pattern=pattern), of(n), NOW) for n in (2, 3, 4)] == [True, True, False]
    raised = made(pattern=pattern, at_most={"duplicated": 4})
    assert [matches(raised, of(n), NOW) for n in (4, 5)] == [True, False]


def test_another_sentence_that_counts_no_rows_does_not_match():
    counted, *others = (
        weigh("rows", {Anomaly.DUPLICATED: 3}, PROMISE, "").reason,
        "In observed, expect_column_values_to_not_be_null of amount does not hold",
        "In observed, expect_column_values_to_not_be_null of id does not hold",
    )
    for shown in ({}, {"broken": (), "differences": {}}):
        issue = made(red(reasons=(counted, others[0]), **shown))
        assert matches(issue, red(2, reasons=(FEWER, others[0]), **shown), NOW)
        assert not matches(issue, red(2, reasons=(counted, others[1]), **shown), NOW)
        assert not matches(issue, red(2, reasons=(counted, *others), **shown), NOW)
        assert not matches(issue, red(2, reasons=(counted,), **shown), NOW)


@pytest.mark.parametrize("pattern", ["", "duplicated"])
def test_a_run_that_is_held_to_something_else_does_not_match(pattern):
    assert not matches(made(pattern=pattern), red(hold_to="at-most-once"), NOW)


def test_it_matches_until_the_end_of_its_last_day_in_utc():
    assert matches(made(), red(), NOW + timedelta(days=2, hours=11))
    assert not matches(made(), red(), NOW + timedelta(days=2, hours=12))


def test_it_matches_another_run_that_shows_the_same():
    assert matches(made(), red(2, reasons=(FEWER,), differences={"duplicated": 1}), NOW)


def test_a_control_that_missed_its_anomaly_goes_by_its_first_sentence():
    missed = good(claims="FAIL", as_claimed=False, reasons=("Claimed to appear: lost", "All well"))
    assert matches(made(missed, pattern="lost"), missed, NOW)
    assert matches(made(missed), missed, NOW)
    assert not matches(made(missed), red(), NOW)


@pytest.mark.parametrize(
    ("entry", "changes", "said"),
    [
        (unknown(), {}, "UNKNOWN in part"),
        (red(findings={"rows": "FAIL", "reads": "UNKNOWN"}), {}, "run it again"),
        (good(), {}, "run_1 is as claimed"),
        (red(), {"until": date(2026, 3, 9)}, "--until 2026-03-09 is in the past"),
        (red(), {"reason": " "}, "--reason is empty"),
        (red(), {"name": "12"}, "--name 12 is a number"),
        (red(), {"pattern": "lost"}, "does not match every sentence of run_1"),
        (red(), {"at_most": {"lost": 9}}, "--at-most lost=9: run_1 has no such anomaly"),
        (red(), {"at_most": {"duplicated": 2}}, "duplicated=2 is less than run_1 has; write 3"),
    ],
)
def test_what_cannot_be_accepted_is_refused(entry, changes, said):
    options = {"reason": "a defect", "until": UNTIL} | changes
    with pytest.raises(RequestError, match=said):
        issue_of(entry, options.pop("reason"), options.pop("until"), NOW, **options)


def test_a_run_is_as_claimed_unknown_known_red_or_new_red():
    issue = made()
    assert result_of(unknown(), [issue], NOW) == ("unknown", None)
    assert result_of(good(), [issue], NOW) == ("as claimed", None)
    assert result_of(red(), [], NOW) == ("new red", None)
    assert result_of(red(), [issue], NOW) == ("known red", 0)
    assert result_of(red(), [issue], NOW + timedelta(days=9)) == ("new red", None)
