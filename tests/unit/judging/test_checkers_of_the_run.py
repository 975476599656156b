"""Checkers of how the run went: each is shown what it must not pass, then what it must."""

import pytest

from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.judging.checkers import CHECKERS, run_checkers
from onceproof.judging.checkers.ended import ended
from onceproof.judging.checkers.expectations import expectations
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.judging.checkers.input_committed import input_committed
from onceproof.judging.checkers.input_kept import input_kept
from onceproof.judging.checkers.reads import reads
from onceproof.judging.checkers.rows import rows
from onceproof.judging.checkers.stuck import stuck
from onceproof.verdict import EXIT_UNKNOWN, Claim, Finding, Grade, Verdict
from tests.unit.handwritten_run import (
    DRIVER,
    STRIKE,
    HandwrittenRun,
    did,
    driver,
    fault,
    offsets,
    plan,
    struck,
    topics,
    validation,
)

REASONS = {
    "wrong_sum": "1 row duplicated: not allowed under exactly-once; but the diff",
    "no_proof": "kill_driver left no proof that it landed",
    "no_strike": "kill_driver never struck",
    "one_death": "kill_driver and kill_job are proved by the same process death",
    "one_death_of_member": "a and b are proved by the same process death",
    "stranger": "the driver of an attempt is among `dead`",
    "healed_early": "healed before the first batch was planned",
    "struck_late": "after all input was committed",
    "no_commit": "no batch was committed after it",
    "unplanned": "kill_driver struck without being planned",
    "one_behind": "events-0 is committed only up to 6, but the ledger has input up to 6",
    "missing_batch": "Batch 0 was never committed, but batch 1 was",
    "early_look": "The input topics were last described before the last attempt ended",
    "expired_by_plan": "Input expired only as planned",
    "end_without_start": "attempt 1, which never started",
    "no_end": "Attempt 1 has no recorded end",
    "elsewhere": "Batch 1 made progress while no attempt was running",
    "not_recovered": "The sink was not recovered",
    "no_poll": "No poll of the sink succeeded",
    "no_poll_after_strike": "No poll began after kill_driver struck",
    "no_poll_after_end": "No poll began after the last attempt ended",
    "no_poll_while_running": (
        "No poll began while the job was writing a batch; No poll began between the strike"
        " of kill_driver and the end of the last attempt"
    ),
    "more_polled": "The last poll saw 9 rows, but the last read had 6",
    "not_healed": "kill_driver was not healed as planned: {}",
    "not_evaluated": (
        "{} expectations of observed were evaluated, but the plan has 1; validate again"
    ),
    "raised": "The checker broken raised KeyError: 'no such thing'",
    "nothing_expected": "No row was expected",
    "sum": "add up to +0 rows",
    "recreated": "Topic events was recreated",
    "expired": "its earlier records have expired",
    "no_known_end": "Attempt 2 has no recorded end",
}

PASS, UNKNOWN, FAIL = Grade


@pytest.fixture
def run():
    return HandwrittenRun()


def without(run, op):
    run.history = [record for record in run.history if record["op"] != op]


def last(run, op):
    return max(at for at, record in enumerate(run.history) if record["op"] == op)


def found(checker, run, folder):
    """The finding as the judge would have it: an error is UNKNOWN."""
    [finding] = run_checkers(run.write(folder), [checker])
    assert not finding.traceback
    return finding


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.__name__)
def test_every_checker_passes_the_good_run(checker, run, tmp_path):
    assert found(checker, run, tmp_path).verdict is PASS


@pytest.mark.parametrize("anomaly", ["lost", "duplicated", "unexpected", "changed"])
def test_rows_fail_on_a_difference_of_any_class(anomaly, run, tmp_path):
    run.differences[anomaly] = 1
    run.observed += {"lost": -1, "changed": 0}.get(anomaly, 1)
    finding = found(rows, run, tmp_path)
    assert finding.verdict is FAIL
    assert finding.anomalies[anomaly] == 1


def test_differences_that_do_not_add_up_fail_a_run_and_make_no_control_as_claimed(run, tmp_path):
    run.differences["duplicated"] = 1
    finding = found(rows, run, tmp_path)
    assert (finding.verdict, finding.anomalies["duplicated"]) == (UNKNOWN, 1)
    assert REASONS["wrong_sum"] in finding.reason
    promise = Promise(Guarantee.EXACTLY_ONCE, atomic_batches=False, ordered=False)
    assert Verdict((finding,), Claim(promise, PASS)).grade is FAIL
    claim = Claim(promise, FAIL, frozenset({Anomaly.DUPLICATED}))
    assert Verdict((finding,), claim).exit_code == EXIT_UNKNOWN


def test_rows_fail_on_a_class_that_the_comparison_took_from_the_history(run, tmp_path):
    run.differences["stuck"] = 2
    assert found(rows, run, tmp_path).verdict is FAIL


def test_rows_that_the_guarantee_allows_pass_and_are_counted(run, tmp_path):
    run.plan = plan(hold_to="at-least-once")
    run.differences["duplicated"], run.observed = 2, 8
    finding = found(rows, run, tmp_path)
    assert (finding.verdict, finding.anomalies["duplicated"]) == (PASS, 2)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"expected": 0, "observed": 0}, REASONS["nothing_expected"]),
        ({"observed": 5}, REASONS["sum"]),
        ({"differences": {"lost": 0}}, "no 'duplicated'"),
        ({"differences": {"lost": -1}}, "below 0"),
        ({"differences": {"lost": True}}, "type int"),
        ({"differences": {"lost": 0.0}}, "type int"),
        ({"differences": {"losst": 0}}, "losst"),
        ({"samples": ["text"]}, "not a JSON object"),
    ],
)
def test_rows_are_unknown_where_the_comparison_does_not_add_up(spoil, words, run, tmp_path):
    for name, value in spoil.items():
        setattr(run, name, value)
    finding = found(rows, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert words in finding.reason


def test_rows_are_unknown_where_the_rows_are_not_those_compared(run, tmp_path):
    evidence = run.write(tmp_path)
    run.observed = 5
    run.write(tmp_path / "other")
    (tmp_path / "other/observed").rename(tmp_path / "observed/later")
    with pytest.raises(EvidenceError, match="observed/"):
        rows(evidence)


@pytest.mark.parametrize("held", [None, 0, 2])
def test_expectations_of_the_plan_that_were_not_all_held_are_unknown(held, run, tmp_path):
    suite = {"name": "totals", "expectations": [{"type": "expect_column_to_exist"}]}
    run.plan["expectations"] = {"observed": suite}
    assert found(expectations, run, tmp_path).verdict is PASS
    run.validation = validation(run.differences, run.observed)
    observed = run.validation["suites"].pop()
    if held is not None:
        observed["results"] *= held
        run.validation["suites"].append(observed)
    reason = found(expectations, run, tmp_path / "not").reason
    assert reason == REASONS["not_evaluated"].format(held or 0)


def test_a_fault_that_never_struck_is_unknown(run, tmp_path):
    without(run, "fault.strike")
    finding = found(faults_landed, run, tmp_path)
    assert (finding.verdict, finding.reason) == (UNKNOWN, REASONS["no_strike"])


@pytest.mark.parametrize(
    "strike",
    [
        did("fault.strike", "kill_driver"),
        did("fault.strike", "kill_driver", "unknown", pid=4711),
        did("fault.strike", "kill_driver", "failed", pid=4711),
        did("fault.strike", "kill_driver", landed=False),
        did("fault.strike", "kill_driver", landed="no"),
        did("fault.strike", "kill_driver", dead=[]),
        did("fault.strike", "kill_driver", dead=True),
    ],
)
def test_a_fault_without_proof_is_unknown(strike, run, tmp_path):
    run.history[run.history.index(STRIKE)] = strike
    finding = found(faults_landed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert finding.reason == REASONS["no_proof"]


def test_a_cure_that_failed_is_unknown(run, tmp_path):
    at = run.history.index(STRIKE) + 1
    for outcome, proof in (("failed", {"reason": "timeout"}), ("failed", {}), ("unknown", {})):
        run.history[at:at] = [did("fault.heal", "kill_driver", outcome, **proof)]
        finding = found(faults_landed, run, tmp_path / str(len(run.history)))
        assert finding.verdict is UNKNOWN
        why = proof.get("reason", "no reason recorded")
        assert finding.reason == REASONS["not_healed"].format(why)


def test_one_death_proves_one_fault(run, tmp_path):
    other = fault("kill_job", "kill", "job", failpoint="decided", batch=1)
    run.plan = plan(faults=[*run.plan["faults"], other])
    at = run.history.index(STRIKE)

    def died(name, pid):
        return struck(name, dead=[DRIVER, {"pid": pid, "started": 1}])

    run.history[at : at + 1] = [died("kill_driver", 8), died("kill_job", 9)]
    finding = found(faults_landed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert finding.reason == REASONS["one_death"]
    run.history[at : at + 2] = [STRIKE]
    again = last(run, "attempt.start") + 1
    moment = {"name": "decided", "batch": 1, "pid": driver(2)["pid"]}
    run.history[again:again] = [
        struck("kill_job", dead=[driver(2)], moment=moment),
        did("attempt.end", "supervisor", "failed", attempt=2),
        did("attempt.start", "supervisor", attempt=3),
    ]
    end = run.history[last(run, "attempt.end")]
    end["attempt"], end["proof"]["pid"] = 3, driver(3)["pid"]
    assert found(faults_landed, run, tmp_path / "apart").verdict is PASS


def test_one_death_of_a_member_proves_one_fault(run, tmp_path):
    run.plan = plan(faults=[fault(name, "kill", "broker:1", batch=1) for name in "ab"])
    died = {"pid": 7, "started": 1, "ended": [7]}
    at = run.history.index(STRIKE)
    run.history[at : at + 1] = [
        did("fault.strike", "a", **died),
        did("fault.strike", "b", members={"broker:1": died}),
    ]
    assert REASONS["one_death_of_member"] in found(faults_landed, run, tmp_path).reason


def test_a_driver_that_was_killed_is_one_that_was_started(run, tmp_path):
    stranger = struck("kill_driver", dead=[DRIVER | {"started": 2}])
    run.history[run.history.index(STRIKE)] = stranger
    finding = found(faults_landed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert REASONS["stranger"] in finding.reason


def test_a_fault_that_was_healed_before_the_job_began_is_unknown(run, tmp_path):
    fill = fault("fill", "fill", "checkpoint", acknowledged=0)
    run.plan = plan(faults=[fill], input={"options": {"events": 6}})
    run.history.remove(STRIKE)
    full = {"folder": "checkpoint", "filler_bytes": 9, "free_bytes": 0}
    moment = {"moment": {"acknowledged": 0}, "planned": -1, "committed": -1}
    room = {"folder": "checkpoint", "free_bytes": 9}
    run.history[2:2] = [
        did("fault.strike", "fill", **full, **moment),
        did("fault.heal", "fill", **room),
    ]
    finding = found(faults_landed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert REASONS["healed_early"] in finding.reason
    run.history.insert(6, run.history.pop(3))
    assert found(faults_landed, run, tmp_path / "later").verdict is PASS


@pytest.mark.parametrize(("state", "grade"), [(None, UNKNOWN), ({"expected": 2}, PASS)])
def test_with_the_sentinels_alone_left_a_fault_disturbs_only_windows(state, grade, run, tmp_path):
    run.ledger, run.sentinels, run.recomputed["state"] = list(range(7)), 1, state
    run.history.remove(STRIKE)
    at = last(run, "batch.commit") + 1
    moment = {"name": "decided", "batch": 2, "pid": driver(2)["pid"]}
    run.history[at:at] = [
        did("batch.offsets", batch=2, **offsets(7)),
        struck("kill_driver", 2, dead=[driver(2)], moment=moment),
        did("attempt.end", "supervisor", "failed", attempt=2),
        did("attempt.start", "supervisor", attempt=3),
        did("batch.commit", batch=2),
    ]
    end = run.history[last(run, "attempt.end")]
    end["attempt"], end["proof"]["pid"] = 3, driver(3)["pid"]
    assert found(faults_landed, run, tmp_path).verdict is grade


def test_a_fault_after_all_input_was_committed_is_unknown(run, tmp_path):
    run.history.remove(STRIKE)
    sentinel = [did("batch.offsets", batch=2, **offsets(7)), did("batch.commit", batch=2)]
    at = last(run, "batch.commit") + 1
    run.history[at:at] = [STRIKE, *sentinel]
    finding = found(faults_landed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert REASONS["struck_late"] in finding.reason


def test_a_fault_after_which_nothing_was_committed_is_unknown(run, tmp_path):
    run.ledger = list(range(8))
    run.history.remove(STRIKE)
    run.history.append(STRIKE)
    assert REASONS["no_commit"] in found(faults_landed, run, tmp_path).reason


def test_an_unplanned_fault_is_unknown(run, tmp_path):
    run.plan = plan(faults=[])
    finding = found(faults_landed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert finding.reason == REASONS["unplanned"]


def test_a_calm_run_without_faults_passes(run, tmp_path):
    run.plan = plan(faults=[])
    without(run, "fault.strike")
    assert found(faults_landed, run, tmp_path).verdict is PASS


def test_input_that_was_not_all_committed_is_unknown(run, tmp_path):
    del run.history[last(run, "batch.commit")]
    finding = found(input_committed, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert finding.numbers == {"offered": 6, "acknowledged": 6, "committed": 3}


def test_one_record_behind_the_last_commit_is_unknown(run, tmp_path):
    run.ledger = list(range(7))
    reason = found(input_committed, run, tmp_path).reason
    assert reason == REASONS["one_behind"]


def test_input_of_a_partition_that_was_not_read_is_unknown(run, tmp_path):
    for record in run.history:
        if record["op"] == "batch.offsets":
            record["proof"] = {"offsets": {"events": {"1": 6}}}
    assert found(input_committed, run, tmp_path).verdict is UNKNOWN


def test_a_commit_that_went_back_to_an_older_position_is_unknown(run, tmp_path):
    run.history += [did("batch.offsets", batch=0, **offsets(3)), did("batch.commit", batch=0)]
    assert found(input_committed, run, tmp_path).verdict is UNKNOWN


def test_a_batch_that_is_missing_among_the_commits_is_unknown(run, tmp_path):
    run.history = [r for r in run.history if (r["op"], r.get("batch")) != ("batch.commit", 0)]
    reason = found(input_committed, run, tmp_path).reason
    assert reason == REASONS["missing_batch"]


def test_a_commit_of_unknown_outcome_commits_nothing(run, tmp_path):
    run.history[last(run, "batch.commit")]["outcome"] = "unknown"
    assert found(input_committed, run, tmp_path).verdict is UNKNOWN


@pytest.mark.parametrize("ledger", [None, [], [None, None], [0, 1, 1, 2]])
def test_a_ledger_that_is_missing_empty_or_doubled_is_unknown(ledger, run, tmp_path):
    run.ledger = ledger
    assert found(input_committed, run, tmp_path).verdict is UNKNOWN


def test_a_commit_at_unrecorded_offsets_is_unknown(run, tmp_path):
    without(run, "batch.offsets")
    assert "offsets" in found(input_committed, run, tmp_path).reason


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (topics(7, topic_id="B"), REASONS["recreated"]),
        (topics(7, start=2), REASONS["expired"]),
        (topics(5), "before the ledger's 5"),
        ({"topics": {}}, "events at the end has no 'id'"),
    ],
)
def test_input_that_did_not_stay_is_unknown(look, words, run, tmp_path):
    run.history[last(run, "input.topics")]["proof"] = look
    finding = found(input_kept, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert words in finding.reason


def test_input_that_was_not_looked_at_in_the_end_is_unknown(run, tmp_path):
    run.history.insert(3, run.history.pop(last(run, "input.topics")))
    reason = found(input_kept, run, tmp_path).reason
    assert reason == REASONS["early_look"]


def test_input_that_expired_by_plan_and_no_further_is_kept_in_the_ledger(run, tmp_path):
    at = run.history.index(STRIKE)
    run.history[at] = did("fault.strike", "kill_driver", begins={"0": 2})
    run.history[last(run, "input.topics")]["proof"] = topics(7, start=2)
    finding = found(input_kept, run, tmp_path)
    assert finding.verdict is PASS
    assert REASONS["expired_by_plan"] in finding.reason
    run.history[last(run, "input.topics")]["proof"] = topics(7, start=3)
    assert found(input_kept, run, tmp_path).verdict is UNKNOWN


def test_input_that_was_looked_at_only_once_is_unknown(run, tmp_path):
    del run.history[0]
    assert found(input_kept, run, tmp_path).verdict is UNKNOWN


@pytest.mark.parametrize("op", ["attempt.end", "attempt.start", "sink.recover", "read"])
def test_a_run_that_had_not_ended_is_unknown(op, run, tmp_path):
    without(run, op)
    assert found(ended, run, tmp_path).verdict is UNKNOWN


def test_an_end_of_unknown_outcome_is_no_end(run, tmp_path):
    run.history[last(run, "attempt.end")]["outcome"] = "unknown"
    assert REASONS["no_known_end"] in found(ended, run, tmp_path).reason


def test_a_read_before_the_last_end_does_not_count(run, tmp_path):
    run.history.append(run.history.pop(last(run, "attempt.end")))
    assert found(ended, run, tmp_path).verdict is UNKNOWN


def test_an_end_without_a_start_is_unknown(run, tmp_path):
    run.history.remove(did("attempt.start", "supervisor", attempt=1, **DRIVER))
    assert REASONS["end_without_start"] in found(ended, run, tmp_path).reason


def test_an_attempt_that_was_started_again_is_unknown(run, tmp_path):
    run.history.append(did("attempt.start", attempt=1))
    assert found(ended, run, tmp_path).verdict is UNKNOWN
    run.history.insert(1, run.history.pop())
    assert REASONS["no_end"] in found(ended, run, tmp_path / "twice").reason


def test_a_batch_that_made_progress_while_no_attempt_ran_is_unknown(run, tmp_path):
    commit = run.history.pop(last(run, "batch.commit"))
    run.history.insert(last(run, "attempt.end") + 1, commit)
    reason = found(ended, run, tmp_path).reason
    assert REASONS["elsewhere"] in reason


def test_a_recovery_that_failed_after_one_that_did_not_is_unknown(run, tmp_path):
    run.history.insert(last(run, "sink.recover") + 1, did("sink.recover", "sink", "failed"))
    assert REASONS["not_recovered"] in found(ended, run, tmp_path).reason


@pytest.mark.parametrize(
    "finals",
    [
        [],
        [did("read", rows=6, digest="d1")],
        [did("read", rows=6, digest="d1"), did("read", rows=6, digest="d2")],
        [did("read", rows=6, digest="d1"), did("read", "observe", "failed")],
        [did("read", rows=0, digest="d1"), did("read", rows=0, digest="d1")],
        [did("read", rows=5, digest="d1"), did("read", rows=5, digest="d1")],
    ],
)
def test_reads_at_the_end_that_prove_no_rest_are_unknown(finals, run, tmp_path):
    without(run, "read")
    run.history += finals
    assert found(reads, run, tmp_path).verdict is UNKNOWN


def test_no_poll_at_all_is_unknown(run, tmp_path):
    without(run, "poll")
    assert REASONS["no_poll"] in found(reads, run, tmp_path).reason


def test_a_reader_that_saw_nothing_is_unknown(run, tmp_path):
    run.reads = []
    for record in run.history:
        if record["op"] == "poll":
            record["proof"]["rows"] = 0
    assert found(reads, run, tmp_path).verdict is UNKNOWN


def test_a_reader_that_stopped_before_the_fault_is_unknown(run, tmp_path):
    run.history = [r for r in run.history if r["op"] != "poll" or r["proof"]["poll"] == 1]
    run.reads = run.reads[:3]
    reason = found(reads, run, tmp_path).reason
    assert REASONS["no_poll_after_strike"] in reason
    assert REASONS["no_poll_after_end"] in reason


def test_a_reader_that_looked_only_in_the_end_is_unknown(run, tmp_path):
    run.history = [r for r in run.history if r["op"] != "poll" or r["proof"]["poll"] == 3]
    run.reads = [row | {"poll": 3} for row in run.reads]
    run.history[last(run, "poll")]["proof"]["rows"] = 6
    reason = found(reads, run, tmp_path).reason
    assert reason == (REASONS["no_poll_while_running"])


def test_readers_that_saw_another_number_of_rows_than_the_last_read_are_unknown(run, tmp_path):
    run.reads += run.reads[3:]
    run.history[last(run, "poll")]["proof"]["rows"] = 6
    reason = found(reads, run, tmp_path).reason
    assert reason == REASONS["more_polled"]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda run: run.reads.pop(), "poll 3 has 3 rows in the history and 2 rows in reads/"),
        (
            lambda run: run.reads.append(run.reads[0] | {"poll": 9}),
            "poll 9 has 0 rows in the history",
        ),
        (lambda run: run.reads[0].update(copies=0), "copies other than 1 and -1"),
        (lambda run: run.reads[0].update(copies=-1), "disappeared before they appeared"),
        (lambda run: run.history[5]["proof"].update(poll=3), "poll 2 was recorded after poll 3"),
        (lambda run: run.history[5]["proof"].update(since=9), "began after its own record"),
        (lambda run: run.history[10]["proof"].update(since=3), "began before poll 1 had ended"),
    ],
)
def test_reads_that_contradict_the_history_are_unknown(spoil, words, run, tmp_path):
    spoil(run)
    finding = found(reads, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert words.lower() in finding.reason.lower()


def test_rows_hidden_by_an_open_transaction_fail(run, tmp_path):
    run.history[last(run, "sink.open")]["proof"] = {"open": 1, "hidden": 5}
    finding = found(stuck, run, tmp_path)
    assert (finding.verdict, finding.anomalies["stuck"]) == (FAIL, 5)


def test_an_open_transaction_that_hides_an_unknown_number_of_rows_fails(run, tmp_path):
    run.history[last(run, "sink.open")]["proof"] = {"open": 1, "hidden": 0}
    assert found(stuck, run, tmp_path).verdict is FAIL


def test_what_is_open_is_blamed_by_its_name(run, tmp_path):
    names = [f"id {number}" for number in range(5)]
    run.history[last(run, "sink.open")]["proof"] = {"open": 5, "hidden": 7, "names": names}
    finding = found(stuck, run, tmp_path)
    assert finding.reason.startswith("7 rows stuck: not allowed under")
    assert finding.reason.endswith("; open is id 0, id 1, id 2 and 2 more")


def test_a_missing_search_for_open_transactions_is_unknown(run, tmp_path):
    run.history.insert(0, run.history.pop(last(run, "sink.open")))
    assert found(stuck, run, tmp_path).verdict is UNKNOWN


def test_a_checker_that_raises_is_unknown_and_its_traceback_is_kept(run, tmp_path):
    def broken(_evidence):
        return {}["no such thing"]

    good, bad = run_checkers(run.write(tmp_path), [rows, broken])
    assert good.verdict is PASS
    assert bad.verdict is UNKNOWN
    assert bad.reason == REASONS["raised"]
    assert "in broken" in bad.traceback


@pytest.mark.parametrize(
    "answer", [None, True, Finding("other", PASS, ""), Finding("odd", "PASS!", "")]
)
def test_a_checker_that_answers_nonsense_is_unknown(answer, run, tmp_path):
    def odd(_evidence):
        return answer

    [finding] = run_checkers(run.write(tmp_path), [odd])
    assert (finding.verdict, finding.checker) == (UNKNOWN, "odd")
    assert finding.traceback
