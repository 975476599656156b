"""A strike is held against its plan, its moment and the rest of the history."""

import pytest

from onceproof.faults.checks import fits, is_cured_member, is_struck_member
from onceproof.judging.checkers import run_checkers
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.verdict import Grade
from tests.unit.handwritten_run import (
    DRIVER,
    STRIKE,
    HandwrittenRun,
    did,
    driver,
    fault,
    plan,
    struck,
)

REASONS = {
    "one_process": "attempts 1 and 2 are the same process",
    "other_end": "the end of attempt 2 names another process than its start",
    "no_process": "attempt 2 names no process",
    "no_heal": "fill needs 1 heal after its strike, but 0 are recorded",
    "two_heals": "fill needs 1 heal after its strike, but 2 are recorded",
    "other_batch": "the record's batch is that of the moment",
    "step": "committed only if the step comes after",
    "itself": "the mark that the process wrote",
    "failed_end": "that attempt ended as failed",
    "trigger": "that the planned trigger waits for",
    "dead": "is among `dead`",
    "driver": "the driver of an attempt is among `dead`",
    "each": "`dead` lists each process",
    "newest": "the history's newest batches",
    "room": "the same `folder` has `free_bytes` again",
}

MOMENT = STRIKE["proof"]["moment"]


def found(run, folder):
    [finding] = run_checkers(run.write(folder), [faults_landed])
    assert not finding.traceback
    return finding


def of(run, op, attempt):
    return next(one for one in run.history if (one["op"], one.get("attempt")) == (op, attempt))


@pytest.mark.parametrize(
    ("proof", "claim"),
    [
        ({"moment": MOMENT | {"batch": 0}}, REASONS["trigger"]),
        ({"moment": MOMENT | {"name": "begin"}}, REASONS["trigger"]),
        ({"moment": {}}, REASONS["trigger"]),
        ({"failpoint": "begin"}, REASONS["trigger"]),
        ({"moment": MOMENT | {"pid": 99}}, REASONS["dead"]),
        ({"dead": [driver(2)]}, REASONS["driver"]),
        ({"dead": [{"pid": DRIVER["pid"]}]}, REASONS["each"]),
        ({"committed": 1}, REASONS["newest"]),
        ({"planned": 0}, REASONS["newest"]),
    ],
)
def test_a_strike_that_contradicts_its_plan_or_the_history_is_unknown(proof, claim, tmp_path):
    run = HandwrittenRun()
    run.history[run.history.index(STRIKE)] = struck("kill_driver", **proof)
    finding = found(run, tmp_path)
    assert finding.verdict is Grade.UNKNOWN
    assert claim in finding.reason


def test_a_record_of_another_batch_than_the_moment_is_unknown(tmp_path):
    run = HandwrittenRun()
    run.history[run.history.index(STRIKE)] = STRIKE | {"batch": 7}
    assert REASONS["other_batch"] in found(run, tmp_path).reason


def test_a_driver_that_crashed_after_its_batch_was_committed_did_not_crash_in_it(tmp_path):
    run = HandwrittenRun(ledger=list(range(8)))
    at = run.history.index(STRIKE)
    late = struck("kill_driver", committed=1)
    run.history[at : at + 1] = [did("batch.commit", "archiver", batch=1), late]
    assert REASONS["step"] in found(run, tmp_path).reason


def test_another_moment_than_the_process_wrote_down_is_unknown(tmp_path):
    evidence = HandwrittenRun().write(tmp_path)
    (tmp_path / "failpoints/kill_driver.reached").write_text('{"name": "decided", "batch": 1}')
    [finding] = run_checkers(evidence, [faults_landed])
    assert REASONS["itself"] in finding.reason


def test_an_attempt_that_was_killed_did_not_end_well(tmp_path):
    run = HandwrittenRun()
    end = of(run, "attempt.end", 1)
    end["outcome"], end["proof"]["reason"] = "ok", "over"
    assert REASONS["failed_end"] in found(run, tmp_path).reason


def test_two_attempts_are_two_processes(tmp_path):
    run = HandwrittenRun()
    of(run, "attempt.start", 2)["proof"] |= DRIVER
    of(run, "attempt.end", 2)["proof"]["pid"] = DRIVER["pid"]
    assert REASONS["one_process"] in found(run, tmp_path).reason


def test_the_end_of_an_attempt_is_that_of_its_process(tmp_path):
    run = HandwrittenRun()
    of(run, "attempt.end", 2)["proof"]["pid"] = 99
    assert REASONS["other_end"] in found(run, tmp_path).reason


def test_an_attempt_without_a_process_is_unknown(tmp_path):
    run = HandwrittenRun()
    of(run, "attempt.start", 2)["proof"].pop("started")
    assert REASONS["no_process"] in found(run, tmp_path).reason


def filled(*heals):
    """The disk of the checkpoint was full while batch 1 was open."""
    run = HandwrittenRun(plan=plan(faults=[fault("fill", "fill", "checkpoint", batch=1)]))
    full = {"folder": "checkpoint", "filler_bytes": 9, "free_bytes": 0}
    proof = {"moment": {"batch": 1}, "planned": 1, "committed": 0}
    at = run.history.index(STRIKE)
    strike = did("fault.strike", "fill", batch=1, **full, **proof)
    run.history[at : at + 1] = [strike, *(did("fault.heal", "fill", **one) for one in heals)]
    return run


ROOM = {"folder": "checkpoint", "free_bytes": 9}


@pytest.mark.parametrize(
    ("heals", "reason"),
    [
        ([], REASONS["no_heal"]),
        ([ROOM, ROOM], REASONS["two_heals"]),
        ([ROOM | {"free_bytes": 0}], REASONS["room"]),
        ([{}], REASONS["room"]),
    ],
)
def test_a_fault_whose_heal_is_not_proved_is_unknown(heals, reason, tmp_path):
    finding = found(filled(*heals), tmp_path)
    assert finding.verdict is Grade.UNKNOWN
    assert reason in finding.reason


def test_a_fault_that_was_healed_once_passes(tmp_path):
    assert found(filled(ROOM), tmp_path).verdict is Grade.PASS


@pytest.mark.parametrize("change", [{"trigger": "batch 1"}, {"when": {"batch": 1}}])
def test_a_plan_whose_trigger_is_proved_in_two_ways_is_unknown(change, tmp_path):
    run = HandwrittenRun()
    run.plan["faults"][0] |= change
    assert found(run, tmp_path).verdict is Grade.UNKNOWN


def test_a_share_of_the_input_that_the_history_never_had_is_unknown(tmp_path):
    for share, grade in ((0.5, Grade.PASS), (0.6, Grade.UNKNOWN), (True, Grade.UNKNOWN)):
        when = fault("kill_driver", "kill", "driver", committed=0.4)
        run = HandwrittenRun(plan=plan(faults=[when], input={"options": {"events": 6}}))
        proof = {"dead": [DRIVER], "moment": {"committed": share}, "planned": 1, "committed": 0}
        run.history[run.history.index(STRIKE)] = did("fault.strike", "kill_driver", **proof)
        assert found(run, tmp_path / str(share)).verdict is grade


LOCAL = {"pid": 7, "started": 1, "signal": "SIGKILL", "ended": [8, 7], "seconds": 0.1}
CONTAINER = {"container": "c655e12a", "started_at": "2026-11-19", "exit_code": 137}
OWNERS = {"command": ["ssh", "b1"], "before": "it served", "after": "it is silent", "seconds": 9}


@pytest.mark.parametrize(
    ("proof", "verb", "is_proved"),
    [
        (LOCAL, "kill", True),
        (LOCAL | {"signal": "SIGTERM"}, "kill", False),
        (LOCAL | {"signal": "SIGTERM"}, "stop", True),
        (LOCAL | {"ended": [8]}, "kill", False),
        (LOCAL | {"signal": "SIGSTOP", "paused": [7]}, "pause", True),
        (LOCAL | {"signal": "SIGSTOP", "paused": []}, "pause", False),
        (LOCAL | CONTAINER, "kill", True),
        (LOCAL | CONTAINER | {"exit_code": 0}, "kill", False),
        (LOCAL | CONTAINER | {"signal": "freeze", "paused": [7]}, "pause", True),
        (LOCAL | CONTAINER | {"signal": "SIGSTOP", "paused": [7]}, "pause", False),
        (OWNERS, "kill", True),
        (OWNERS | {"before": "no answer"}, "kill", False),
        (OWNERS | {"after": "it served"}, "kill", False),
        (OWNERS | {"after": ""}, "kill", False),
        (OWNERS | {"after": "it serves"}, "kill", False),
    ],
)
def test_a_member_of_any_stack_was_struck_as_its_proof_shows(proof, verb, is_proved):
    assert is_struck_member(proof, verb) is is_proved


@pytest.mark.parametrize(
    ("proof", "struck_one", "verb", "is_proved"),
    [
        ({"pid": 9, "started": 2, "changed": True, "trouble": ""}, LOCAL, "kill", True),
        ({"pid": 7, "started": 1, "changed": True, "trouble": ""}, LOCAL, "kill", False),
        ({"pid": 7, "started": 1, "changed": True, "trouble": ""}, LOCAL, "pause", True),
        ({"pid": 9, "started": 2, "changed": True, "trouble": ""}, LOCAL, "pause", False),
        (OWNERS | {"after": "it serves"}, OWNERS, "kill", True),
        (OWNERS, OWNERS, "kill", False),
    ],
)
def test_a_member_of_any_stack_was_cured_as_its_proof_shows(proof, struck_one, verb, is_proved):
    assert is_cured_member(proof, struck_one, verb) is is_proved


@pytest.mark.parametrize(
    ("member", "target", "can_be"),
    [
        ("broker:2", "broker:2", True),
        ("broker:3", "broker:2", False),
        ("broker:3", "broker:leader=0", True),
        ("worker:1", "worker:any", True),
        ("broker:1", "worker:any", False),
        ("store", "store", True),
        ("store", "store:postmaster", False),
    ],
)
def test_a_member_is_one_that_its_target_names(member, target, can_be):
    assert fits(member, target) is can_be
