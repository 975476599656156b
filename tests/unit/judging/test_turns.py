"""Runs of a job that lives in turns: a turn's end is distinguished from a crash."""

import pytest

from onceproof.judging.checkers import CHECKERS, run_checkers
from onceproof.judging.checkers.ended import ended
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.judging.checkers.unexplained import unexplained
from onceproof.judging.effects.measure import failures, measure
from onceproof.verdict import Grade
from tests.unit.handwritten_run import HandwrittenRun, did, offsets, plan
from tests.unit.judging.test_effects import EXECUTOR, at, one_attempt, with_engine

PASS, UNKNOWN, FAIL = Grade
DIED = {"attempt": 1, "reason": "its process ended", "pause_s": 0.5, "decided": "start"}
REASONS = {
    "counted": (
        "The sink was read after the end of attempt 3 and a recovery; 2 turns ended with exit code"
        " 0, the last had all input"
    ),
    "other_code": "Attempt {} is recorded as a turn, which ends with exit code 0, but has {}",
    "not_last": "The last attempt, 3, did not end with exit code 0",
    "too_early": "The last attempt, 3, began before all input was sent",
}


def turned(attempt, code=0, outcome="ok", reason="its turn ended"):
    own = {} if code is None else {"exit_code": code}
    return did("attempt.end", "supervisor", outcome, attempt=attempt, reason=reason, **own)


def in_turns(**changes):
    """The good run in turns: the driver is killed in the first; the third finds nothing new."""
    run = HandwrittenRun(plan=plan(**{"lives": "in_turns"} | changes))
    ends = [n for n, one in enumerate(run.history) if one["op"] == "attempt.end"]
    run.history[ends[1] : ends[1] + 1] = [
        turned(2),
        did("sink.recover", "sink"),
        did("attempt.start", "supervisor", attempt=3),
        turned(3),
    ]
    run.history[ends[0] : ends[0] + 1] = [
        turned(1, -9, "failed", "its process ended"),
        did("restart", "supervisor", **DIED),
    ]
    return run


def end_of(run, attempt):
    same = ("attempt.end", attempt)
    return next(n for n, one in enumerate(run.history) if (one["op"], one.get("attempt")) == same)


def found(checker, run, folder):
    [finding] = run_checkers(run.write(folder), [checker])
    assert not finding.traceback
    return finding


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.__name__)
def test_every_checker_passes_a_good_run_in_turns(checker, tmp_path):
    assert found(checker, in_turns(), tmp_path).verdict is PASS


def test_the_turns_are_counted(tmp_path):
    finding = found(ended, in_turns(), tmp_path)
    assert finding.numbers == {"attempts": 3, "turns": 2}
    assert finding.reason == REASONS["counted"]


@pytest.mark.parametrize("attempt", [2, 3])
@pytest.mark.parametrize(("code", "words"), [(1, "1"), (-9, "-9"), (None, "none")])
def test_a_crash_that_is_recorded_as_a_turn_is_unknown(attempt, code, words, tmp_path):
    run = in_turns()
    run.history[end_of(run, attempt)] = turned(attempt, code)
    finding = found(ended, run, tmp_path)
    assert (finding.verdict, finding.reason) == (
        *(UNKNOWN, REASONS["other_code"].format(attempt, words)),
    )


def test_a_turn_with_another_code_and_no_fault_is_unexplained(tmp_path):
    run = in_turns()
    place = end_of(run, 2)
    asked = did("restart", "supervisor", **DIED | {"attempt": 2, "said": "no such table"})
    run.history[place : place + 1] = [turned(2, 1, "failed", "its process ended"), asked]
    assert found(ended, run, tmp_path).verdict is PASS
    finding = found(unexplained, run, tmp_path)
    assert (finding.verdict, finding.reason) == (
        *(UNKNOWN, "Attempt 2 crashed (no such table): no planned fault explains it"),
    )


def test_the_last_turn_must_have_ended_well(tmp_path):
    run = in_turns()
    run.history[end_of(run, 3)] = turned(3, 1, "failed", "its process ended")
    finding = found(ended, run, tmp_path)
    assert (finding.verdict, finding.reason) == (UNKNOWN, REASONS["not_last"])


def test_the_last_turn_must_have_begun_when_all_input_was_sent(tmp_path):
    run = in_turns()
    sent = did("input.progress", "produce", offered=6, acknowledged=6)
    run.history.insert(end_of(run, 3), sent)
    finding = found(ended, run, tmp_path)
    assert (finding.verdict, finding.reason) == (UNKNOWN, REASONS["too_early"])


def test_a_job_that_must_fail_may_do_so_after_turns(tmp_path):
    run = in_turns(ends="failed")
    place = end_of(run, 3)
    run.history[place : place + 1] = [
        turned(3, 1, "failed", "its process ended"),
        did("restart", "supervisor", **DIED | {"attempt": 3, "decided": "give up"}),
    ]
    assert found(ended, run, tmp_path).verdict is PASS
    run.history[end_of(run, 2)] = turned(2, 1)
    assert found(ended, run, tmp_path).verdict is UNKNOWN


def test_a_kill_of_a_driver_that_ended_its_turn_has_no_proof(tmp_path):
    run = in_turns()
    place = end_of(run, 1)
    run.history[place : place + 2] = [turned(1)]
    finding = found(faults_landed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert "that attempt ended as failed" in finding.reason


def two_turns(*events, engine_of, folder):
    """An executor is killed in batch 1; then the turn ends; another has the rest."""
    run = one_attempt(EXECUTOR, {"dead": [{"pid": 9, "started": 9}], "executors_before": 1})
    run.plan["lives"] = "in_turns"
    run.history[-1] = turned(2)
    committed = next(
        n for n, one in enumerate(run.history) if one["op"] == "batch.commit" and one["batch"] == 1
    )
    run.history[committed + 1 : committed + 1] = [
        turned(1),
        did("attempt.start", "supervisor", attempt=2),
    ]
    return with_engine(run, folder, *events, attempt=engine_of)


def effect_of(run, folder):
    evidence = run.write(folder)
    strike = next(one for one in evidence.history if one.op == "fault.strike")
    return measure(evidence, failures(evidence), strike)


def test_a_turn_that_loses_its_executors_at_its_end_does_not_feel_the_fault(tmp_path):
    lost = ("executor_lost", at(9.5), {})  # after the commit of batch 1, before that of batch 2
    run = two_turns(lost, engine_of=1, folder=tmp_path)
    assert effect_of(run, tmp_path)["degree"] == "none"


def test_an_executor_lost_within_a_turn_is_felt(tmp_path):
    lost = ("executor_lost", at(8.5), {})
    run = two_turns(lost, engine_of=1, folder=tmp_path)
    assert effect_of(run, tmp_path)["degree"] == "felt"


def test_a_task_that_fails_at_the_end_of_a_turn_is_a_failure(tmp_path):
    late = ("task_failed", at(40), {"why": "OutOfMemoryError"})
    run = two_turns(late, engine_of=2, folder=tmp_path)
    assert found(unexplained, run, tmp_path).verdict is UNKNOWN


def slowly(run):
    """Ten seconds pass between the end of the first turn and the start of the second."""
    end = end_of(run, 1) + 1
    run.history[5:5] = [
        did("batch.offsets", "archiver", batch=1, **offsets(4)),
        did("batch.commit", "archiver", batch=1),
    ]
    run.clocks = lambda seq: (100 + seq, 1.7e9 + seq + (10 if seq > end + 2 else 0))
    return run


def test_the_pause_between_two_turns_is_no_slower_commit(tmp_path):
    run = slowly(two_turns(engine_of=1, folder=tmp_path))
    assert "commit_s" not in effect_of(run, tmp_path)


def test_the_time_after_a_crash_is(tmp_path):
    run = slowly(two_turns(engine_of=1, folder=tmp_path))
    run.history[end_of(run, 1)] = turned(1, 1, "failed", "its process ended")
    assert effect_of(run, tmp_path)["commit_s"] >= 10
