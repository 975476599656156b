"""Phases as an orchestrator's tasks: each may be called twice, and none leaves anything behind."""

import json
import os
import threading
from datetime import UTC, datetime

import pytest

from onceproof.airflow.night import pick_runs
from onceproof.airflow.orchestrated import (
    PhaseWatch,
    carry_out,
    judge_ended,
    outcome,
    plan_run,
    release_abandoned,
    release_run,
)
from onceproof.airflow.run_summary import deciding_summary, is_decided, summary_of
from onceproof.errors import EvidenceError, OnceproofError, RequestError, StackError
from onceproof.job.handle import own_environment
from onceproof.machine.polling import wait_for
from onceproof.past.record import find_store
from onceproof.phases import detached
from onceproof.phases.phase import end_of, phase
from onceproof.phases.plan import Origin
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome
from tests.unit.night_runs import judged, lossy

CALM = "copy_events__append_table__calm"
PARAMS = {
    "open": False,
    "tags": [],
    "scenarios": [CALM],
    "seeds": 2,
    "first_seed": None,
    "budget_minutes": 30,
    "stack": "",
    "subject": "",
}
NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_stack(monkeypatch, tmp_path):
    monkeypatch.setenv("ONCEPROOF_HOME", str(tmp_path / "home"))


@pytest.fixture
def run(tmp_path):
    return plan_run(CALM, 7, tmp_path / "runs", "", Origin("night-1", "dag-run-1"))


def did(run, name, outcome=Outcome.OK, **proof):
    history = History(run.history)
    history.append(name, Op.PHASE_START)
    history.append(name, Op.PHASE_END, outcome, proof=proof)


def test_a_plan_contains_its_night_and_orchestrator(run):
    found = json.loads(run.plan.read_text())
    assert (found["night"], found["orchestrator"]) == ("night-1", "dag-run-1")


def test_a_phase_never_runs_twice_at_once(run):
    order = []

    def second():
        with phase(run, "compare"):
            order.append("second")

    with phase(run, "compare"):
        other = threading.Thread(target=second)
        other.start()
        other.join(0.2)
        order.append("first")
    other.join()
    assert order == ["first", "second"]


def test_a_restarted_phase_has_not_ended(run):
    did(run, "observe")
    assert end_of(run, "observe").is_ok
    History(run.history).append("observe", Op.PHASE_START)
    assert end_of(run, "observe") is None


def test_a_phase_older_than_its_input_is_not_done(run):
    did(run, "compare")
    did(run, "validate")
    assert detached.is_done(run, "validate")
    did(run, "compare")
    assert not detached.is_done(run, "validate")


def test_a_failed_phase_is_not_done_and_raises_its_reason(run):
    did(run, "produce", Outcome.FAILED, reason="no broker")
    assert not detached.is_done(run, "produce")
    with pytest.raises(StackError, match=r"produce.*broker"):
        outcome(run, "produce")


def test_a_running_phase_is_not_started_twice_and_logs_its_failure(run):
    did(run, "compare", Outcome.FAILED, reason="no rows")
    first = detached.start_detached(run, "validate")
    assert detached.start_detached(run, "validate") == first
    wait_for(lambda: PhaseWatch(run, "validate").has_ended(), 60, "it does not end")
    with pytest.raises(StackError, match=r"validate\.log"):
        outcome(run, "validate")
    assert "compare: no rows" in (run.logs / "validate.log").read_text()


def test_the_process_of_a_phase_ends_when_the_run_is_judged(run):
    one = detached.start_detached(run, "validate")  # waits for a comparison that never happens
    assert one.is_alive
    judge_ended(run)
    assert not one.is_alive


def test_a_long_phase_does_not_wait_for_an_agent_that_never_comes(run):
    assert not PhaseWatch(run, "process").has_ended()
    did(run, "produce", Outcome.FAILED, reason="no broker")
    assert PhaseWatch(run, "process").has_ended()
    assert PhaseWatch(run, "disturb").has_ended()


def test_a_missing_end_of_the_agent_is_a_failure(run):
    with pytest.raises(StackError, match=r"agent\.log"):
        outcome(run, "process")


def test_the_error_names_faults_without_proof(tmp_path):
    found = plan_run("copy_events__append_table__kill_driver", 7, tmp_path, "", Origin())
    did(found, "process")
    with pytest.raises(StackError, match=r"disturb.*kill_driver"):
        outcome(found, "disturb")


def test_a_short_phase_raises_its_error(run):
    with pytest.raises(OnceproofError):
        carry_out(run, "compare")
    assert not end_of(run, "compare").is_ok


def test_a_run_released_without_a_verdict_is_judged_unknown_once(run):
    assert release_run(run).exit_code == 2
    assert release_run(run) is None
    assert run.released.exists()
    assert json.loads(run.verdict.read_text())["verdict"] == "UNKNOWN"


def test_a_judged_run_keeps_its_evidence_when_it_is_released(run):
    judge_ended(run)
    before = run.history.read_bytes() if run.history.exists() else b""
    release_run(run)
    assert (run.history.read_bytes() if run.history.exists() else b"") == before
    assert run.released.exists()


def of_history(run):
    """The judged runs in the verdict history, as names and grades."""
    store = find_store(run.root.parents[1])
    found = store.entries() if store else []
    return [(one.run, one.verdict) for one in found if one.is_judged]


@pytest.fixture
def no_history(monkeypatch):
    """A verdict history that cannot be reached until the patch is undone."""
    with monkeypatch.context() as patched:
        patched.setenv("ONCEPROOF_HISTORY", "postgresql://me@127.0.0.1:1/none")
        yield patched


def test_a_verdict_that_could_not_be_recorded_is_recorded_at_the_release(run, no_history):
    with pytest.raises(EvidenceError, match=r"127\.0\.0\.1"):
        judge_ended(run)
    no_history.undo()
    assert of_history(run) == []
    release_run(run)
    release_run(run)
    assert of_history(run) == [(json.loads(run.plan.read_text())["run"], "UNKNOWN")]


def test_a_run_is_in_the_history_once_it_is_planned(run):
    (row,) = find_store(run.root.parents[1]).entries()
    assert (row.run, row.verdict, row.is_judged) == (
        json.loads(run.plan.read_text())["run"],
        "UNKNOWN",
        False,
    )
    assert row.reasons[0].startswith("The run was begun but not judged")


def test_a_run_is_planned_even_if_the_history_cannot_be_reached(no_history, tmp_path, caplog):
    run = plan_run(CALM, 7, tmp_path / "other", "", Origin("night-1", "dag-run-2"))
    assert run.plan.exists()
    assert "the run is not in the verdict history" in caplog.text
    no_history.undo()
    assert find_store(tmp_path / "other") is None


def test_a_judged_run_is_released_even_if_the_history_cannot_be_reached(run, no_history):
    for _ in range(2):
        with pytest.raises(EvidenceError, match=r"127\.0\.0\.1"):
            release_run(run)
        assert run.released.exists()
        assert run.verdict.exists()
        run.released.unlink()


def test_a_summary_that_the_judge_task_did_not_return_is_made_from_the_run(tmp_path):
    red = judged(lossy(), tmp_path, "run_1")
    found = summary_of(red)
    assert (found["verdict"], found["as_claimed"], found["run"]) == ("FAIL", False, str(red.root))
    assert of_history(red) == [("run_1", "FAIL")]


def test_a_run_without_a_verdict_has_no_summary(run):
    assert summary_of(run) is None


PASS, FAIL, UNKNOWN = ({"verdict": name} for name in ("PASS", "FAIL", "UNKNOWN"))


def test_only_unknown_and_missing_verdicts_are_undecided():
    assert [is_decided(one) for one in (PASS, FAIL, UNKNOWN, None)] == [True, True, False, False]


def test_a_retry_counts_only_if_the_first_run_is_undecided():
    assert deciding_summary(FAIL, PASS) == FAIL
    assert deciding_summary(UNKNOWN, PASS) == deciding_summary(None, PASS) == PASS
    assert deciding_summary(UNKNOWN, None) == UNKNOWN
    assert deciding_summary(None, None) is None


def test_an_earlier_run_of_the_same_orchestrator_is_released_before_the_next(run, tmp_path):
    second = plan_run(CALM, 7, tmp_path / "runs", "", Origin("night-1", "dag-run-1"))
    assert second.root != run.root
    assert run.released.exists()
    other = plan_run(CALM, 7, tmp_path / "runs", "", Origin("night-1", "dag-run-2"))
    assert not second.released.exists()
    assert other.root != second.root


def test_a_run_is_abandoned_only_after_its_time_limit(run, tmp_path):
    did(run, "prepare", Outcome.FAILED, reason="ended")
    prepared = {"stack": "none", "own": True, "bootstrap": "", "master": "", "address": ""}
    run.prepared.write_text(json.dumps(prepared))
    assert release_abandoned(tmp_path / "runs") == []
    os.utime(run.history, (0, 0))
    assert release_abandoned(tmp_path / "runs") == [str(run.root)]
    assert release_abandoned(tmp_path / "runs") == []


def test_settings_of_airflow_are_not_passed_to_our_processes(monkeypatch):
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://secret")
    monkeypatch.setenv("_AIRFLOW_X", "secret")
    assert "secret" not in "".join(own_environment().values())


def test_each_night_has_different_seeds_and_a_repeated_night_the_same(tmp_path):
    found, repeated = (pick_runs(PARAMS, "night", NOON, tmp_path) for _ in range(2))
    assert found == repeated
    assert [one["conf"]["seed"] for one in found] == [1479658, 1479659]
    later = pick_runs(PARAMS, "night", NOON.replace(day=2), tmp_path)
    assert [one["conf"]["seed"] for one in later] == [1479660, 1479661]


def test_the_runs_of_a_night_have_ids_and_a_deadline(tmp_path):
    (found, _) = pick_runs(PARAMS | {"first_seed": 3}, "night", NOON, tmp_path)
    assert found == {
        "trigger_run_id": f"night__{CALM}__3",
        "conf": {"scenario": CALM, "seed": 3, "stack": "", "subject": "", "night": "night"}
        | {"open": False},
        "run_label": f"{CALM} 3",
        "until": "2026-08-01T12:30:00+00:00",
    }


def test_a_night_without_a_scenario_is_refused(tmp_path):
    with pytest.raises(RequestError, match="night"):
        pick_runs(PARAMS | {"scenarios": []}, "night", NOON, tmp_path)
    with pytest.raises(RequestError, match="'x'"):
        pick_runs(PARAMS | {"scenarios": ["x"]}, "night", NOON, tmp_path)
    with pytest.raises(RequestError, match="'nigthly'"):
        pick_runs(PARAMS | {"tags": ["nigthly"]}, "night", NOON, tmp_path)
