from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceproof.errors import RequestError
from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.verdict import Claim, Finding, Grade, Status, Verdict, not_applicable, weigh, worst

PASS, UNKNOWN, FAIL = Grade
LOST, DUPLICATED, TORN = Anomaly.LOST, Anomaly.DUPLICATED, Anomaly.TORN
EXACTLY = Promise(Guarantee.EXACTLY_ONCE, atomic_batches=False, ordered=False)
AT_LEAST = Promise(Guarantee.AT_LEAST_ONCE, atomic_batches=False, ordered=False)
GREEN = Claim(EXACTLY, PASS)
CONTROL = Claim(EXACTLY, FAIL, frozenset({DUPLICATED}))

GRADES = st.lists(st.sampled_from(Grade))
COUNTS = st.dictionaries(st.sampled_from(Anomaly), st.integers(0, 3))
FINDINGS = st.lists(
    st.builds(Finding, st.just("any"), st.sampled_from(Grade), st.just("Why"), anomalies=COUNTS),
    max_size=5,
)


def finding(grade, checker="any", **anomalies):
    counts = {Anomaly(name): count for name, count in anomalies.items()}
    return Finding(checker, grade, f"{checker} says {grade}", anomalies=counts)


def judged(claim, *findings):
    return Verdict(findings, claim)


def test_no_findings_are_unknown():
    assert worst([]) is UNKNOWN
    assert judged(GREEN).exit_code == 2
    assert judged(GREEN).reasons == ("No checker has run, so nothing is known",)


def test_the_order_is_pass_unknown_fail():
    for grades in permutations(Grade):
        assert worst(grades) is FAIL
    assert worst([PASS, UNKNOWN]) is UNKNOWN
    assert worst([PASS]) is PASS


@given(GRADES.filter(bool), GRADES.filter(bool))
def test_the_worst_of_parts_is_the_worst_of_all(one, other):
    assert worst(one + other) is worst([worst(one), worst(other)]) is worst(other + one)
    assert worst(one + one) is worst(one)


@given(FINDINGS.filter(bool), st.sampled_from([GREEN, CONTROL, None]), st.sampled_from(Grade))
def test_one_more_finding_never_makes_a_verdict_better(findings, claim, more):
    order = list(Grade)
    before = Verdict(tuple(findings), claim)
    after = Verdict((*findings, finding(more)), claim)
    assert order.index(after.grade) >= order.index(before.grade)


@given(st.permutations([finding(g, n) for n, g in zip("abc", Grade, strict=True)]))
def test_the_order_of_findings_does_not_matter(findings):
    verdict = Verdict(tuple(findings), GREEN)
    assert verdict.grade is FAIL
    assert verdict.reasons == ("c says FAIL", "b says UNKNOWN")


@given(FINDINGS)
def test_only_a_verdict_without_doubt_or_breach_is_green(findings):
    verdict = Verdict(tuple(findings), GREEN)
    clean = all(f.verdict is PASS for f in findings)
    breach = any(c and not EXACTLY.allows(a) for f in findings for a, c in f.anomalies.items())
    assert (verdict.exit_code == 0) == bool(findings and clean and not breach)


@given(FINDINGS, FINDINGS)
def test_merged_counts_are_the_larger_ones(one, other):
    merged = Verdict((*one, *other), None).differences
    parts = [Verdict(tuple(part), None).differences for part in (one, other)]
    assert merged == {name: max(part[name] for part in parts) for name in Anomaly}


def test_a_checker_that_passes_over_lost_rows_is_overruled():
    assert judged(GREEN, finding(PASS, lost=1)).grade is FAIL


def test_what_is_legal_is_counted_and_passes():
    found = weigh("rows", {DUPLICATED: 2, LOST: 0}, AT_LEAST, "Clean")
    assert found.verdict is PASS
    assert found.reason == "2 rows duplicated; allowed: the run is held to at-least-once"
    assert judged(Claim(AT_LEAST, PASS), found).differences[DUPLICATED] == 2


@pytest.mark.parametrize(
    ("promise", "counts", "status", "reason"),
    [
        (AT_LEAST, {}, Status.PASSED, "Clean"),
        (AT_LEAST, {LOST: 1}, Status.FAILED, "1 row lost: not allowed under at-least-once"),
        (
            AT_LEAST,
            {Anomaly.TORN: 6082},
            Status.ALLOWED,
            "6,082 rows became visible before the rest of their batch; allowed: this sink does not"
            " promise atomic batches",
        ),
        (
            AT_LEAST,
            {Anomaly.REORDERED: 1, DUPLICATED: 2},
            Status.ALLOWED,
            "1 row became visible after a newer row of their key and 2 rows duplicated; allowed:"
            " the run is held to at-least-once",
        ),
    ],
)
def test_allowed_anomalies_are_not_passed(promise, counts, status, reason):
    found = weigh("any", counts, promise, "Clean")
    assert (found.status, found.reason) == (status, reason)


def test_the_reasons_of_a_pass_are_checked_then_allowed_then_not_applicable():
    findings = (
        not_applicable("calm_run", "none"),
        weigh("rows", {DUPLICATED: 2}, AT_LEAST, "Clean"),
        Finding("unexplained", PASS, "Allowed", is_allowed=True),
        Finding("ended", PASS, "Checked"),
    )
    verdict = Verdict(findings, Claim(AT_LEAST, PASS))
    assert verdict.reasons == ("Checked", findings[1].reason, "Allowed", "none")


def test_the_reasons_of_a_failure_are_what_decided_it_the_worst_first():
    findings = [finding(PASS, "a"), finding(UNKNOWN, "b"), finding(FAIL, "c", lost=1)]
    assert judged(GREEN, *findings).reasons == ("c says FAIL", "b says UNKNOWN")


def test_a_checker_without_anything_to_check_is_not_applicable():
    found = not_applicable("torn", "Rows carry no batch number")
    assert (found.verdict, found.status) == (PASS, Status.NOT_APPLICABLE)
    assert finding(UNKNOWN).status is Status.UNKNOWN


def test_what_is_illegal_fails_and_only_that_is_named():
    found = weigh("rows", {DUPLICATED: 2, LOST: 1}, AT_LEAST, "Clean")
    assert found.verdict is FAIL
    assert found.reason == "1 row lost: not allowed under at-least-once"


@pytest.mark.parametrize(
    ("grades", "code"), [([PASS], 0), ([PASS, FAIL], 1), ([PASS, UNKNOWN], 2), ([UNKNOWN, FAIL], 1)]
)
def test_a_claim_of_pass_exits_by_the_grade(grades, code):
    assert judged(GREEN, *map(finding, grades)).exit_code == code


def test_without_a_claim_nothing_is_as_claimed():
    for grade in Grade:
        assert judged(None, finding(grade)).exit_code == 2


def test_a_control_that_shows_exactly_its_anomaly_is_as_claimed():
    verdict = judged(CONTROL, finding(FAIL, duplicated=3), finding(PASS, torn=9))
    assert verdict.exit_code == 0
    assert verdict.grade is FAIL


def test_a_control_that_shows_nothing_is_not_as_claimed():
    verdict = judged(CONTROL, finding(PASS))
    assert verdict.exit_code == 1
    assert verdict.reasons[0] == "Claimed to appear, but not seen: duplicated"


def test_a_control_that_shows_more_is_not_as_claimed():
    verdict = judged(CONTROL, finding(FAIL, duplicated=3, lost=1))
    assert verdict.exit_code == 1
    assert verdict.reasons[0] == "Seen, but not among those claimed: lost"


def test_a_control_that_shows_another_anomaly_is_not_as_claimed():
    assert judged(CONTROL, finding(FAIL, lost=1)).exit_code == 1


def test_a_control_that_misses_one_of_two_is_not_as_claimed():
    both = Claim(EXACTLY, FAIL, frozenset({DUPLICATED, LOST}))
    assert judged(both, finding(FAIL, duplicated=3)).exit_code == 1


def test_a_control_whose_fault_may_not_have_landed_is_unknown():
    fault = finding(UNKNOWN, "faults_landed")
    assert judged(CONTROL, finding(FAIL, duplicated=3), fault).exit_code == 2
    assert judged(CONTROL, fault).exit_code == 2


def test_a_control_that_fails_for_another_reason_is_not_as_claimed():
    assert judged(CONTROL, finding(FAIL, duplicated=3), finding(FAIL)).exit_code == 1


@pytest.mark.parametrize(
    ("grade", "anomalies", "words"),
    [
        (UNKNOWN, [], "UNKNOWN"),
        (PASS, [LOST], "forbids"),
        (FAIL, [], "FAIL"),
        (FAIL, [LOST, TORN], "torn"),
    ],
)
def test_a_claim_that_no_run_can_meet_is_refused(grade, anomalies, words):
    with pytest.raises(RequestError, match=words):
        Claim(EXACTLY, grade, frozenset(anomalies))
