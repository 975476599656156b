"""What a strike changed: each kind of evidence, its degree, and what a scenario may demand."""

import hashlib
import json

import pytest

from onceproof.judging.checkers import run_checkers
from onceproof.judging.checkers.effects import effects
from onceproof.judging.checkers.faults_landed import landed
from onceproof.judging.checkers.unexplained import unexplained
from onceproof.judging.effects.measure import failures, measure
from onceproof.runs.directory import RunDirectory
from onceproof.verdict import Grade
from tests.unit.handwritten_run import DRIVER, HandwrittenRun, did, offsets, plan, topics

PASS, UNKNOWN, FAIL = Grade
EXECUTOR = {"name": "f", "verb": "kill", "target": "executor:any", "trigger": "x"}
STRIKE_AT = 7  # the place of the strike in a history; its `seq` is one more


def planned(fault, **changes):
    return {"when": {"batch": 0}, "how": {}, **fault, **changes}


def one_attempt(fault, strike, *more, heal=None, effect=""):
    """A run of one attempt in which a fault strikes in batch 1; four batches are committed."""
    history = [
        did("input.topics", **topics(0)),
        did("attempt.start", "supervisor", attempt=1, **DRIVER),
        did("input.progress", "produce", offered=12, acknowledged=12),
        did("batch.offsets", "archiver", batch=0, **offsets(3)),
        did("batch.commit", "archiver", batch=0),
        did("poll", "reader", poll=1, rows=3),
        did("batch.offsets", "archiver", batch=1, **offsets(6)),
        did("fault.strike", fault["name"], **strike),
        *more,
        did("batch.commit", "archiver", batch=1),
        *([did("fault.heal", fault["name"], **heal)] if heal else []),
        did("batch.offsets", "archiver", batch=2, **offsets(9)),
        did("batch.commit", "archiver", batch=2),
        did("batch.offsets", "archiver", batch=3, **offsets(12)),
        did("batch.commit", "archiver", batch=3),
        did("attempt.end", "supervisor", attempt=1),
    ]
    demand = {"effect": effect} if effect else {}
    plans = plan(faults=[planned(fault, **demand)])
    return HandwrittenRun(plan=plans, history=history, ledger=list(range(12)))


def with_engine(run, folder, *events, attempt=1):
    """Give the run the engine's record of an attempt: events and their seconds since the start."""
    engine = RunDirectory(folder).engine
    engine.mkdir(parents=True, exist_ok=True)
    lines = [{"event": what, "at_ms": int(at_s * 1000), **fields} for what, at_s, fields in events]
    text = "".join(f"{json.dumps(one)}\n" for one in lines)
    (engine / f"{attempt}.jsonl").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    run.history.append(
        did("engine", "engine", attempt=attempt, events=len(lines), sha256=digest, spark="4.2.0")
    )
    return run


def at(seq):
    """The wall clock of a handwritten record."""
    return 1.7e9 + seq / 2


def measured(run, folder):
    evidence = run.write(folder)
    return measure(evidence, failures(evidence), next(iter(landed(evidence).values())))


def found(checker, run, folder):
    [finding] = run_checkers(run.write(folder), [checker])
    assert not finding.traceback
    return finding


DEAD = {"dead": [{"pid": 9, "started": 9}], "executors_before": 1}
FAILED = ("task_failed", at(8), {"why": "ExecutorLostFailure"})


def test_an_executor_that_had_no_task_has_no_effect(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path)
    assert measured(run, tmp_path)["degree"] == "none"


def test_an_executor_that_was_given_up_without_a_task_is_felt(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path, ("executor_lost", at(8), {}))
    effect = measured(run, tmp_path)
    assert (effect["degree"], effect["executors_lost"]) == ("felt", 1)


@pytest.mark.parametrize("what", ["task_failed", "stage_again", "batch_again"])
def test_what_ran_again_is_retried(what, tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path, (what, at(8), {}))
    assert measured(run, tmp_path)["degree"] == "retried"


def test_a_driver_that_crashed_restarts_the_job(tmp_path):
    run = HandwrittenRun()
    effect = measured(run, tmp_path)
    assert (effect["degree"], effect["attempts_ended"]) == ("restarted", 1)
    assert effect["engine"] == "no event log"


def test_a_task_that_failed_before_the_strike_is_not_its_effect(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path, ("task_failed", at(5), {}))
    assert measured(run, tmp_path)["degree"] == "none"


def test_a_strike_that_takes_long_has_effects_since_it_began(tmp_path):
    began = {"began": {"since": 4, "wall": at(4)}}
    run = one_attempt(EXECUTOR, DEAD | began)
    run = with_engine(run, tmp_path, ("task_failed", at(5), {}))
    assert measured(run, tmp_path)["degree"] == "retried"


def test_a_task_that_failed_when_the_job_worked_again_is_not_its_effect(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path, ("task_failed", at(12), {}))
    assert measured(run, tmp_path)["degree"] == "none"
    assert found(unexplained, run, tmp_path).verdict is UNKNOWN


def test_a_failure_while_a_fault_is_not_yet_healed_is_its_effect(tmp_path):
    store = {"name": "f", "verb": "pause", "target": "store", "trigger": "x"}
    run = one_attempt(store, {"pid": 5, "started": 5}, heal={"member": "store"})
    run = with_engine(run, tmp_path, ("task_failed", at(10), {}))
    assert measured(run, tmp_path)["degree"] == "retried"


def test_a_poll_that_failed_is_felt(tmp_path):
    failed = did("poll", "reader", "failed", why="the store is away")
    run = with_engine(one_attempt(EXECUTOR, DEAD, failed), tmp_path)
    assert measured(run, tmp_path)["polls_failed"] == 1


@pytest.mark.parametrize(
    ("who", "degree"), [("driver=r", "felt"), ("producer", "felt"), ("broker:2", "none")]
)
def test_a_cut_counts_where_only_the_job_can_have_felt_it(who, degree, tmp_path):
    cut = {"name": "f", "verb": "cut", "target": "broker:1", "trigger": "x"}
    strike = {"rule": {"pairs": [[who, "broker:1"]]}, "counts": {"reset": 1}}
    run = with_engine(one_attempt(cut, strike), tmp_path)
    assert measured(run, tmp_path)["degree"] == degree


def test_commits_that_were_much_later_than_ever_before_are_felt(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path)
    run.history[5:5] = [
        did("batch.offsets", "archiver", batch=1, **offsets(4)),
        did("batch.commit", "archiver", batch=1),
    ]
    strike = 10
    run.clocks = lambda seq: (100 + seq, 1.7e9 + seq + (9 if seq > strike else 0))
    assert measured(run, tmp_path)["commit_s"] >= 9


@pytest.mark.parametrize(
    ("counts", "is_felt"),
    [
        (((10, 9), (20, 19), (30, 19), (40, 39)), True),
        (((10, 9), (20, 20), (30, 29), (40, 39)), False),
    ],
    ids=["none is acknowledged", "nothing was sent for long"],
)
def test_a_producer_that_waits_long_is_felt(counts, is_felt, tmp_path):
    sent = [did("input.progress", "produce", offered=a, acknowledged=b) for a, b in counts]
    run = one_attempt(EXECUTOR, DEAD)
    run.history[2:3] = sent[:2]
    run.history[9:9] = sent[2:]
    run = with_engine(run, tmp_path)
    run.clocks = lambda seq: (100 + seq, 1.7e9 + seq + (9 if seq > 9 else 0))
    effect = measured(run, tmp_path)
    assert ("acknowledgement_s" in effect) is is_felt


@pytest.mark.parametrize(
    ("offset", "degree"), [(5, "none"), (8, "felt"), (20, "none")], ids=["read", "ahead", "unread"]
)
def test_aborted_input_counts_where_the_job_went_past_it(offset, degree, tmp_path):
    abort = {"name": "f", "verb": "abort", "target": "input", "trigger": "x"}
    strike = {"aborted": 1, "offsets": {"0": [offset, offset]}}
    run = with_engine(one_attempt(abort, strike), tmp_path)
    assert measured(run, tmp_path)["degree"] == degree


@pytest.mark.parametrize(("partitions", "degree"), [(["0"], "none"), (["0", "1"], "felt")])
def test_partitions_that_were_added_count_where_the_job_reads_them(partitions, degree, tmp_path):
    grow = {"name": "f", "verb": "grow", "target": "input", "trigger": "x"}
    run = one_attempt(grow, {"partitions_before": 1, "partitions": 2, "planned": 1})
    last = [one for one in run.history if one["op"] == "batch.offsets"][-1]
    last["proof"] = {"offsets": {"events": dict.fromkeys(partitions, 12)}}
    assert measured(with_engine(run, tmp_path), tmp_path)["degree"] == degree


def test_an_effect_that_is_demanded_and_missing_is_unknown(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD, effect="retried"), tmp_path)
    finding = found(effects, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert finding.reason == (
        "f had the effect none, but its scenario demands retried: without an effect, a fault proves"
        " nothing"
    )


def test_a_demanded_task_failure_is_unknown_without_the_engines_record(tmp_path):
    finding = found(effects, one_attempt(EXECUTOR, DEAD, effect="retried"), tmp_path)
    assert (finding.verdict, "no event log" in finding.reason) == (UNKNOWN, True)


@pytest.mark.parametrize("demanded", ["felt", "retried"])
def test_an_effect_that_reaches_the_demand_passes(demanded, tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD, effect=demanded), tmp_path, FAILED)
    assert found(effects, run, tmp_path).verdict is PASS


def test_an_effect_without_evidence_is_unknown(tmp_path):
    run = one_attempt(EXECUTOR, DEAD, effect="retired")
    assert found(effects, run, tmp_path).verdict is UNKNOWN


def test_an_engines_record_that_was_changed_is_unknown(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path)
    (tmp_path / "engine/1.jsonl").write_text(json.dumps({"event": "task_failed", "at_ms": 1}))
    for checker in (effects, unexplained):
        assert found(checker, run, tmp_path).verdict is UNKNOWN


def test_an_engines_record_of_another_length_is_unknown(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path, FAILED)
    run.history[-1]["proof"]["events"] = 2
    assert found(effects, run, tmp_path).verdict is UNKNOWN


def test_an_engines_record_that_is_not_in_the_history_is_unknown(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path)
    (tmp_path / "engine/2.jsonl").write_text("")
    assert found(effects, run, tmp_path).verdict is UNKNOWN


def test_an_engines_record_that_is_missing_is_unknown(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path)
    (tmp_path / "engine/1.jsonl").unlink()
    assert found(effects, run, tmp_path).verdict is UNKNOWN


def died_again(**changes):
    """The good run, in which attempt 2 dies too after it has committed the batch."""
    run = HandwrittenRun(plan=plan(**changes))
    end = next(n for n, one in enumerate(run.history) if one.get("attempt") == 2 and n > 10)
    run.history[end : end + 1] = [
        did("attempt.end", "supervisor", "failed", attempt=2),
        did("restart", "supervisor", attempt=2, decided="start", said="NullPointerException"),
        did("attempt.start", "supervisor", attempt=3),
        did("attempt.end", "supervisor", attempt=3),
    ]
    return run


def test_a_death_that_no_fault_explains_is_unknown(tmp_path):
    finding = found(unexplained, died_again(), tmp_path)
    assert (finding.verdict, finding.numbers) == (UNKNOWN, {"attempts": 1, "tasks": 0})
    assert finding.reason == (
        "Attempt 2 crashed (NullPointerException): no planned fault explains it"
    )


def test_a_death_that_no_fault_explains_may_be_allowed(tmp_path):
    finding = found(unexplained, died_again(unexplained="allowed"), tmp_path)
    assert (finding.verdict, finding.numbers["attempts"]) == (PASS, 1)


def test_damage_explains_that_the_next_attempt_cannot_start(tmp_path):
    fault = {"name": "kill_driver", "verb": "damage", "target": "checkpoint:x", "trigger": "x"}
    run = died_again(faults=[planned(fault)])
    commit = [n for n, one in enumerate(run.history) if one["op"] == "batch.commit"][-1]
    run.history.append(run.history.pop(commit))  # nothing was committed before it died
    assert found(unexplained, run, tmp_path).verdict is PASS


def test_damage_explains_an_attempt_that_commits_the_damaged_batch_and_is_refused(tmp_path):
    fault = {"name": "kill_driver", "verb": "damage", "target": "checkpoint:x", "trigger": "x"}
    assert found(unexplained, died_again(faults=[planned(fault)]), tmp_path).verdict is PASS


def test_a_missed_strike_explains_whom_it_killed(tmp_path):
    run = died_again()
    at_end = next(n for n, one in enumerate(run.history) if one["op"] == "restart") - 1
    missed = did("fault.strike", "kill_driver", "failed", dead=[{"pid": 2, "started": 2}])
    run.history.insert(at_end, missed)
    starts = [one for one in run.history if one["op"] == "attempt.start"]
    starts[1]["proof"] |= {"pid": 2, "started": 2}
    assert found(unexplained, run, tmp_path).verdict is PASS


def test_a_task_that_is_ended_with_the_job_is_no_failure(tmp_path):
    run = with_engine(one_attempt(EXECUTOR, DEAD), tmp_path, ("task_failed", at(16), {}))
    assert found(unexplained, run, tmp_path).verdict is PASS


CHANGED_NOTHING = {
    "an idle executor": (EXECUTOR, DEAD),
    "a worker without an executor": (
        {"name": "f", "verb": "kill", "target": "worker:any", "trigger": "x"},
        {"member": "worker:2", "pid": 1, "started": 2, "ended": [1]},
    ),
    "a master that the job does not need": (
        {"name": "f", "verb": "kill", "target": "master", "trigger": "x"},
        {"member": "master", "pid": 1, "started": 2, "ended": [1]},
    ),
    "a cut that only another broker felt": (
        {"name": "f", "verb": "cut", "target": "broker:1", "trigger": "x"},
        {
            "rule": {"pairs": [["anyone", "broker:1"], ["broker:1", "broker:2"]]},
            "counts": {"reset": 1},
        },
    ),
}


@pytest.mark.parametrize("which", CHANGED_NOTHING)
def test_a_strike_that_changed_nothing_is_unknown_where_an_effect_is_demanded(which, tmp_path):
    fault, strike = CHANGED_NOTHING[which]
    run = with_engine(one_attempt(fault, strike, effect="felt"), tmp_path)
    assert found(effects, run, tmp_path).verdict is UNKNOWN


def test_an_executor_killed_between_two_attempts_changed_nothing(tmp_path):
    run = HandwrittenRun(plan=plan(faults=[planned(EXECUTOR, effect="felt")]))
    run.history = [one for one in run.history if one["op"] != "fault.strike"]
    end = next(n for n, one in enumerate(run.history) if one["op"] == "attempt.end")
    run.history.insert(end + 1, did("fault.strike", "f", **DEAD))
    assert found(effects, run, tmp_path).verdict is UNKNOWN
    assert measured(run, tmp_path)["attempts_ended"] == 0
