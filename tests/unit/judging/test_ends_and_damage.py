"""Jobs that must fail for good, and damaged checkpoints, as the checkers see them."""

import pytest

from onceproof.judging.blame import blame
from onceproof.judging.checkers import run_checkers
from onceproof.judging.checkers.ended import ended
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.judging.checkers.input_committed import input_committed
from onceproof.judging.checkers.offset_log import offset_log
from onceproof.judging.checkers.restarted import damaged as files_damaged
from onceproof.judging.checkers.restarted import restarted, unexplained
from onceproof.judging.checkers.state import state
from onceproof.verdict import Grade
from tests.unit.handwritten_run import STRIKE, HandwrittenRun, did, plan, struck

REASONS = {
    "other_error": (
        "The job failed for good with the last message 'Error: no such file', not 'out of"
        " memory' as planned"
    ),
    "missed": "kill_driver (offsets_lost) damaged the checkpoint",
    "seen": (
        "The check before the start after kill_driver (offsets_lost) found: offsets/0 is missing"
    ),
    "others": "1 other start(s) had problems in the checkpoint too",
    "blame": (
        "Batch 1 ran on the checkpoint that kill_driver damaged after batch 0: the newest"
        " offsets are gone, but their commit is there"
    ),
}

PASS, UNKNOWN, FAIL = Grade
CHECKERS = (ended, faults_landed, input_committed, offset_log)
ASKED = {"attempt": 1, "reason": "its process ended", "pause_s": None}


def grades(run, folder, checkers=CHECKERS):
    return [finding.verdict for finding in run_checkers(run.write(folder), checkers)]


def given_up(decided="give up", **fields):
    """The driver dies in the second batch and is not started again."""
    run = HandwrittenRun(plan=plan(ends="failed", **fields))
    gone = {("attempt.start", 2), ("attempt.end", 2)}
    run.history = [
        one
        for one in run.history
        if (one["op"], one.get("attempt")) not in gone
        and (one["op"], one.get("batch")) != ("batch.commit", 1)
    ]
    place = next(at for at, one in enumerate(run.history) if one["op"] == "attempt.end") + 1
    asked = {**ASKED, "said": "Error: no such file", "decided": decided}
    run.history.insert(place, did("restart", "supervisor", **asked))
    return run


def test_a_job_that_failed_for_good_as_planned_is_judged_by_its_commits(tmp_path):
    assert grades(given_up(), tmp_path) == [PASS] * 4


def test_a_job_that_failed_with_another_error_proves_nothing(tmp_path):
    assert grades(given_up(last_words="no such .*"), tmp_path, [ended]) == [PASS]
    run = given_up(last_words="out of memory").write(tmp_path / "other")
    (finding,) = run_checkers(run, [ended])
    assert finding.verdict is UNKNOWN
    assert finding.reason == REASONS["other_error"]


def test_the_same_run_proves_nothing_if_no_failure_was_planned(tmp_path):
    run = given_up()
    run.plan = plan()
    assert grades(run, tmp_path) == [PASS, UNKNOWN, UNKNOWN, UNKNOWN]


def test_a_strategy_that_did_not_give_up_is_no_end(tmp_path):
    assert grades(given_up(decided="start"), tmp_path, [ended]) == [UNKNOWN]


def test_a_job_that_was_to_fail_and_went_on_to_the_end_is_unknown(tmp_path):
    run = HandwrittenRun(plan=plan(ends="failed"))
    assert grades(run, tmp_path, (ended, input_committed)) == [UNKNOWN, UNKNOWN]


def damaged(said):
    """The strike damaged the offsets of batch 0; the check before attempt 2 said this."""
    run = HandwrittenRun()
    place = run.history.index(STRIKE)
    change = {"files": {"offsets/0": {"before": "1 bytes, a", "after": None}}}
    run.history[place] = struck("kill_driver", damage="offsets_lost", **change)
    run.history[place]["batch"] = 0
    again = next(one for one in run.history if one.get("attempt") == 2)
    again["proof"]["checkpoint"] = said
    return run


@pytest.mark.parametrize(
    ("file", "ends", "grade"),
    [
        ("state/0/1/2.delta", "failed", PASS),
        ("state/0/1/2.delta", "over", UNKNOWN),
        ("commits/0", "failed", UNKNOWN),
    ],
)
def test_state_that_a_fault_damaged_cannot_be_read_when_the_job_refused_it(
    tmp_path, file, ends, grade
):
    run = given_up()
    run.plan = plan(ends=ends)
    run.recomputed["state"] = {"error": "no such file"}
    change = {"damage": "state_lost", "files": {file: {"before": "1 bytes, a", "after": None}}}
    run.history[run.history.index(STRIKE)] = did("fault.strike", "kill_driver", **change)
    assert grades(run, tmp_path, [state]) == [grade]


def found(run, folder):
    [finding] = run_checkers(run.write(folder), [restarted])
    assert not finding.traceback
    return finding


def test_damage_that_the_check_before_the_start_did_not_see_is_unknown(tmp_path):
    finding = found(damaged([]), tmp_path)
    assert finding.verdict is UNKNOWN
    assert REASONS["missed"] in finding.reason


def test_the_finding_has_the_result_of_the_check_after_damage(tmp_path):
    finding = found(damaged(["offsets/0 is missing"]), tmp_path)
    assert finding.verdict is PASS
    assert finding.reason == (REASONS["seen"])
    assert finding.numbers == {"starts": 2, "damaged": 1, "troubled": 1}


def test_a_problem_that_no_fault_caused_is_reported_and_decides_nothing(tmp_path):
    run = HandwrittenRun()
    again = next(one for one in run.history if one.get("attempt") == 2)
    again["proof"] = {"checkpoint": ["commits/1 is gone"]}
    finding = found(run, tmp_path)
    assert finding.verdict is PASS
    assert finding.reason == REASONS["others"]


def test_a_checkpoint_is_unsound_at_the_end_but_for_what_a_fault_did(tmp_path):
    def ends_with(run, folder):
        evidence = run.write(folder)
        path = evidence.run.checkpoint / "offsets/0"
        path.write_text(path.read_text() + " ")
        return run_checkers(evidence, [offset_log])[0].verdict

    assert ends_with(HandwrittenRun(), tmp_path / "none") is UNKNOWN
    assert ends_with(damaged(["seen"]), tmp_path / "fault") is PASS


def test_state_is_gone_with_the_folders_of_what_a_fault_took(tmp_path):
    run = damaged(["seen"])
    strike = next(one for one in run.history if one["op"] == "fault.strike")
    strike["proof"]["files"] = {"state/0/1/2.delta": {"before": "1 bytes, a", "after": None}}
    hurt = files_damaged(run.write(tmp_path))
    assert unexplained(["state is gone, and there was some", "state/0/1 is gone"], hurt) == []
    assert unexplained(["offsets/0 is missing"], hurt) == ["offsets/0 is missing"]


@pytest.mark.parametrize(
    "said", ["commits/4 is missing", "offsets/5 says 1, and commits/4 says 2", "in commits/4: cut"]
)
def test_a_trouble_is_explained_by_a_file_that_it_names(said):
    assert unexplained([said], {"commits/4"}) == []
    assert unexplained([said], {"commits/44", "commits"}) == [said]


def test_a_row_of_a_later_batch_is_blamed_on_the_damage_that_it_rests_on(tmp_path):
    run = damaged(["seen"])
    strike = run.history.pop(next(at for at, one in enumerate(run.history) if "fault" in one["op"]))
    place = next(at for at, one in enumerate(run.history) if one.get("batch") == 1)
    run.history.insert(place, strike)
    run.samples = [{"class": "changed", "key": {"k": "d"}, "batch": 1}]
    [found] = blame(run.write(tmp_path))
    assert (found["fault"], found["step"]) == ("kill_driver", "decided")
    assert found["sentence"] == (REASONS["blame"])
