"""The verdict of a run with several outputs: the worst decides, and each is held to its claim."""

from dataclasses import replace

import pytest

from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.judging.whole import WholeVerdict
from onceproof.verdict import Claim, Finding, Grade, Verdict

PASS, UNKNOWN, FAIL = Grade
DUPLICATED = Anomaly.DUPLICATED
GREEN = Claim(Promise(Guarantee.EXACTLY_ONCE, atomic_batches=False, ordered=False), PASS)
CONTROL = replace(GREEN, verdict=FAIL, anomalies=frozenset({DUPLICATED}))


def found(grade, checker="rows", reason="", **anomalies):
    counts = {Anomaly(name): count for name, count in anomalies.items()}
    return Finding(checker, grade, reason or f"{checker} says {grade}", anomalies=counts)


def whole(**flows):
    return WholeVerdict.of(
        {name: Verdict(tuple(findings), claim) for name, (claim, *findings) in flows.items()}
    )


GOOD = (GREEN, found(PASS))
BAD = (GREEN, found(FAIL, duplicated=3))
DOUBTFUL = (GREEN, found(UNKNOWN))
CLAIMED = (CONTROL, found(FAIL, duplicated=3))


@pytest.mark.parametrize(
    ("one", "other", "grade", "code"),
    [
        (GOOD, GOOD, PASS, 0),
        (GOOD, BAD, FAIL, 1),
        (GOOD, DOUBTFUL, UNKNOWN, 2),
        (DOUBTFUL, BAD, FAIL, 1),
        (GOOD, CLAIMED, FAIL, 0),
        (DOUBTFUL, CLAIMED, FAIL, 2),
        (GOOD, (CONTROL, found(PASS)), PASS, 1),
    ],
)
def test_the_worst_output_decides_and_each_must_be_as_claimed(one, other, grade, code):
    for verdict in (whole(a=one, b=other), whole(b=other, a=one)):
        assert (verdict.grade, verdict.exit_code, verdict.as_claimed) == (grade, code, code == 0)


def test_differences_are_added_up_and_count_only_if_counted_everywhere():
    verdict = whole(a=BAD, b=(GREEN, found(FAIL, duplicated=2, lost=1)))
    assert verdict.differences[DUPLICATED] == 5
    assert verdict.differences[Anomaly.LOST] == 1
    assert verdict.counted == {DUPLICATED}


def test_a_finding_of_all_is_there_once_and_any_other_names_its_outputs():
    same = found(PASS, "ended", "All ended")
    verdict = whole(a=(*GOOD, same), b=(*BAD, same), c=(*GOOD, same))
    assert [(one.about, one.reason) for one in verdict.findings] == [
        ("a, c", "a, c: rows says PASS"),
        ("b", "b: rows says FAIL"),
        ("", "All ended"),
    ]


def test_the_reasons_begin_with_the_outputs_that_are_not_as_claimed():
    assert whole(a=GOOD, b=BAD).reasons == (
        "b: FAIL, but PASS is claimed",
        "b: rows says FAIL",
    )
    assert whole(a=GOOD, b=CLAIMED).reasons == ("b: rows says FAIL",)
    assert whole(a=GOOD, b=GOOD).reasons == ("rows says PASS",)
