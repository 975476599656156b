"""What only a reader during the run can show, on three to six rows each."""

import pytest

from onceproof.judging.checkers import run_checkers
from onceproof.judging.checkers.regressed import regressed
from onceproof.judging.checkers.reordered import reordered
from onceproof.judging.checkers.torn import torn
from onceproof.judging.checkers.uncommitted_read import uncommitted_read
from onceproof.judging.checkers.zombie import zombie
from onceproof.verdict import Grade
from tests.unit.handwritten_run import HandwrittenRun, did, plan, saw

PASS, UNKNOWN, FAIL = Grade
APPEND = {"writes": "append"}


def found(checker, folder, reads, *more, without=(), **plan_fields):
    """The finding on these rows; `more` records happen before the polls, which come at the end.

    The good run's records of the ops `without` are left out.
    """
    run = HandwrittenRun(plan=plan(**plan_fields), reads=reads)
    run.history = [record for record in run.history if record["op"] not in ("poll", *without)]
    run.history += more
    for number in range(1, max(row["poll"] for row in reads) + 1):
        rows = sum(row["poll"] == number for row in reads)
        run.history.append(did("poll", "reader", poll=number, rows=rows))
    [finding] = run_checkers(run.write(folder), [checker])
    assert not finding.traceback
    return finding


def is_found(finding, anomaly, count):
    assert finding.anomalies.get(anomaly, 0) == count
    return finding.verdict


def decided(word, batch=1, attempt=1, outcome="ok"):
    return did("decision", "sink", outcome, batch=batch, attempt=attempt, decided=word)


def test_rows_of_an_attempt_that_was_aborted_were_read_uncommitted(tmp_path):
    reads = [saw(1, "a", batch=1), saw(1, "b", batch=1), saw(2, "a", 2, batch=1, attempt=2)]
    finding = found(uncommitted_read, tmp_path, reads, decided("abort"))
    assert is_found(finding, "uncommitted_read", 2) is FAIL


def test_a_key_that_was_seen_and_is_gone_at_the_end_was_read_uncommitted(tmp_path):
    reads = [saw(1, "a"), saw(1, "b"), saw(2, "b", copies=-1)]
    assert is_found(found(uncommitted_read, tmp_path, reads), "uncommitted_read", 1) is FAIL


def test_a_row_added_for_good_that_is_gone_was_read_uncommitted(tmp_path):
    reads = [saw(1, "a"), saw(2, "a", copies=-1), saw(2, "a", 2)]
    finding = found(uncommitted_read, tmp_path, reads, **APPEND)
    assert is_found(finding, "uncommitted_read", 1) is FAIL


def test_a_row_added_for_good_that_was_gone_for_a_while_was_read_uncommitted(tmp_path):
    reads = [saw(1, "a"), saw(2, "a", copies=-1), saw(3, "a", attempt=2)]
    finding = found(uncommitted_read, tmp_path, reads, **APPEND)
    assert is_found(finding, "uncommitted_read", 1) is FAIL


def test_a_row_in_whose_place_the_same_came_at_once_passes(tmp_path):
    reads = [saw(1, "a"), saw(2, "a", copies=-1), saw(2, "a", attempt=2)]
    finding = found(uncommitted_read, tmp_path, reads, **APPEND)
    assert is_found(finding, "uncommitted_read", 0) is PASS


def test_rows_of_a_decision_with_an_unknown_outcome_are_unknown(tmp_path):
    reads = [saw(1, "a", batch=1), saw(1, "b", batch=1)]
    finding = found(uncommitted_read, tmp_path, reads, decided("", outcome="unknown"))
    assert finding.verdict is UNKNOWN
    assert finding.reason == "2 visible rows are of a decision with an unknown outcome"


def test_an_attempt_that_was_both_committed_and_aborted_is_unknown(tmp_path):
    both = decided("commit"), decided("abort")
    assert found(uncommitted_read, tmp_path, [saw(1, "a")], *both).verdict is UNKNOWN


def test_a_decision_that_is_neither_commit_nor_abort_is_unknown(tmp_path):
    assert found(uncommitted_read, tmp_path, [saw(1, "a")], decided("perhaps")).verdict is UNKNOWN


def test_a_decision_read_back_as_a_commit_and_a_replaced_value_pass(tmp_path):
    reads = [saw(1, "a", batch=1), saw(2, "a", copies=-1, batch=1), saw(2, "a", 2, batch=2)]
    records = decided("", outcome="unknown"), decided("commit"), decided("abort", attempt=2)
    finding = found(uncommitted_read, tmp_path, reads, *records)
    assert is_found(finding, "uncommitted_read", 0) is PASS


def test_rows_seen_before_the_rest_of_their_batch_are_torn(tmp_path):
    reads = [saw(1, "a", batch=1), saw(1, "b", batch=1), saw(3, "c", batch=1)]
    finding = found(torn, tmp_path, reads, atomic_batches=True)
    assert is_found(finding, "torn", 2) is FAIL


def test_half_a_batch_that_a_later_attempt_completes_is_torn(tmp_path):
    half = [saw(1, "a", batch=1), saw(1, "b", batch=1)]
    again = [saw(2, key, batch=1, attempt=2) for key in "abc"]
    finding = found(torn, tmp_path, half + again, atomic_batches=True, **APPEND)
    assert is_found(finding, "torn", 2) is FAIL


def test_two_like_rows_of_one_batch_that_come_apart_are_torn(tmp_path):
    reads = [saw(1, "a", batch=1), saw(2, "a", batch=1)]
    assert is_found(found(torn, tmp_path, reads, atomic_batches=True, **APPEND), "torn", 1) is FAIL


def test_torn_batches_are_counted_without_a_promise_of_atomic_ones(tmp_path):
    reads = [saw(1, "a", batch=1), saw(2, "b", batch=1)]
    assert is_found(found(torn, tmp_path, reads), "torn", 1) is PASS


@pytest.mark.parametrize("batches", [(None, None), (1, None)])
def test_atomic_batches_that_no_row_can_prove_are_unknown(batches, tmp_path):
    reads = [saw(1, key, batch=batch) for key, batch in zip("ab", batches, strict=True)]
    assert found(torn, tmp_path, reads, atomic_batches=True).verdict is UNKNOWN


def test_whole_batches_pass_also_written_twice_or_gone_for_a_while(tmp_path):
    once = [saw(1, key, batch=1) for key in "ab"]
    twice = [saw(2, key, batch=1, attempt=2) for key in "ab"]
    gone = [saw(3, key, copies=-1, batch=1) for key in "ab"]
    back = [saw(4, key, batch=1) for key in "ab"]
    finding = found(torn, tmp_path, once + twice + gone + back, atomic_batches=True, **APPEND)
    assert is_found(finding, "torn", 0) is PASS


def test_a_row_after_a_newer_one_of_its_key_is_reordered(tmp_path):
    reads = [saw(1, "a", v, position=p) for p, v in enumerate([1, 3, 2])] + [saw(2, "b", 1)]
    finding = found(reordered, tmp_path, reads, ordered=True, **APPEND)
    assert is_found(finding, "reordered", 1) is FAIL


def test_a_row_that_comes_in_a_later_poll_is_reordered(tmp_path):
    reads = [saw(1, "a", 2), saw(2, "a", 1)]
    assert is_found(found(reordered, tmp_path, reads, **APPEND), "reordered", 1) is PASS


@pytest.mark.parametrize("versions", [(None, None), (1, None)])
def test_an_order_that_no_row_can_prove_is_unknown(versions, tmp_path):
    reads = [saw(1, "a", version=version) for version in versions]
    assert found(reordered, tmp_path, reads, ordered=True, **APPEND).verdict is UNKNOWN


def test_rows_in_order_pass_also_repeated_and_without_a_position(tmp_path):
    reads = [saw(1, "a", v, position=p) for p, v in enumerate([1, 2, 3, 2, 3])]
    reads += [saw(1, "b", 2), saw(1, "b", 1)]
    finding = found(reordered, tmp_path, reads, ordered=True, **APPEND)
    assert is_found(finding, "reordered", 0) is PASS


def test_a_value_that_went_back_is_regressed(tmp_path):
    reads = [saw(1, "a", 2), saw(2, "a", 2, copies=-1), saw(2, "a", 1), saw(2, "b", 1)]
    assert is_found(found(regressed, tmp_path, reads), "regressed", 1) is FAIL


def test_a_value_that_went_back_is_allowed_at_least_once(tmp_path):
    reads = [saw(1, "a", v, position=p) for p, v in enumerate([1, 2, 1, 2])]
    finding = found(regressed, tmp_path, reads, hold_to="at-least-once")
    assert is_found(finding, "regressed", 1) is PASS


def test_versions_that_the_plan_promises_and_no_row_has_are_unknown(tmp_path):
    assert found(regressed, tmp_path, [saw(1, "a", None)]).verdict is UNKNOWN


def test_without_a_version_a_regression_cannot_be_recognized(tmp_path):
    finding = found(regressed, tmp_path, [saw(1, "a", None)], versioned=False)
    assert finding.verdict is PASS
    assert finding.status == "not applicable"


def test_values_that_only_grow_pass(tmp_path):
    reads = [saw(1, "a", 1), saw(2, "a", 1, copies=-1), saw(2, "a", 3), saw(2, "b", 2)]
    assert is_found(found(regressed, tmp_path, reads), "regressed", 0) is PASS


def test_rows_that_come_after_their_attempt_was_replaced_are_a_zombies(tmp_path):
    reads = [saw(1, "a", batch=2, attempt=2), saw(2, "b", batch=2, attempt=1)]
    assert is_found(found(zombie, tmp_path, reads), "zombie", 1) is FAIL


def test_a_zombie_that_decides_for_itself_is_still_one(tmp_path):
    reads = [saw(1, "a", batch=2, attempt=2), saw(2, "b", batch=2, attempt=1)]
    finding = found(zombie, tmp_path, reads, decided("commit", batch=2, attempt=1))
    assert is_found(finding, "zombie", 1) is FAIL


def test_a_zombie_is_counted_at_least_once(tmp_path):
    reads = [saw(1, "a", batch=2, attempt=2), saw(2, "b", batch=2, attempt=1)]
    finding = found(zombie, tmp_path, reads, hold_to="at-least-once")
    assert is_found(finding, "zombie", 1) is PASS


def test_of_two_attempts_that_run_at_the_same_time_none_was_replaced(tmp_path):
    reads = [saw(1, "a", batch=2, attempt=2), saw(2, "b", batch=2, attempt=1)]
    finding = found(zombie, tmp_path, reads, without=["attempt.end"])
    assert is_found(finding, "zombie", 0) is PASS


@pytest.mark.parametrize(("family", "late"), [("append", 1), ("idempotent", 1), ("wal", 0)])
def test_rows_that_come_after_their_batch_was_committed_are_a_zombies(tmp_path, family, late):
    reads = [saw(1, "a", batch=1, attempt=2), saw(2, "b", batch=1, attempt=2)]
    finding = found(zombie, tmp_path, reads, family=family)
    assert is_found(finding, "zombie", late) is (FAIL if late else PASS)


def test_an_attempt_that_writes_a_batch_committed_by_a_concurrent_one_is_a_zombie(tmp_path):
    reads = [saw(1, "a", batch=1, attempt=2), saw(2, "b", batch=1, attempt=1)]
    finding = found(zombie, tmp_path, reads, without=["attempt.end"], family="append")
    assert is_found(finding, "zombie", 1) is FAIL


def test_an_attempt_that_began_after_a_commit_may_run_the_batch_again(tmp_path):
    reads = [saw(1, "a", batch=0, attempt=1), saw(2, "b", batch=0, attempt=2)]
    assert is_found(found(zombie, tmp_path, reads, family="append"), "zombie", 0) is PASS


def test_a_commit_that_failed_closes_no_batch(tmp_path):
    reads = [saw(1, "a", batch=2, attempt=2), saw(2, "b", batch=2, attempt=2)]
    failed = did("batch.commit", "archive", "failed", batch=2)
    assert is_found(found(zombie, tmp_path, reads, failed, family="append"), "zombie", 0) is PASS


def test_rows_of_an_attempt_that_never_started_are_unknown(tmp_path):
    assert "attempt 9" in found(zombie, tmp_path, [saw(1, "a", attempt=9)]).reason


def test_what_was_committed_before_the_replacement_may_come_after_it(tmp_path):
    reads = [saw(1, "a", batch=1, attempt=2), saw(2, "b", batch=0, attempt=1)]
    assert is_found(found(zombie, tmp_path, reads), "zombie", 0) is PASS
