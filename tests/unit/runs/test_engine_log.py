"""The extract of Spark's event log; a missing log is not taken for a calm one."""

import json

import pytest

from onceproof.digests import file_digest
from onceproof.runs import engine_log
from onceproof.runs.directory import RunDirectory
from onceproof.runs.engine_log import record_engine
from onceproof.runs.history import History
from onceproof.runs.records import Outcome

START = {"Event": "SparkListenerLogStart", "Spark Version": "4.2.0"}
LOST = {
    "Event": "SparkListenerExecutorRemoved",
    "Timestamp": 1000,
    "Executor ID": "1",
    "Removed Reason": "Command exited with code 137",
}


def task(reason, **more):
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": 3,
        "Stage Attempt ID": 0,
        "Task End Reason": {"Reason": reason, **more},
        "Task Info": {"Task ID": 14, "Executor ID": "1", "Finish Time": 2000},
    }


def stage(attempt, batch="3"):
    info = {"Stage ID": 3, "Stage Attempt ID": attempt, "Submission Time": 1500}
    return {
        "Event": "SparkListenerStageSubmitted",
        "Stage Info": info,
        "Properties": {"streaming.sql.batchId": batch},
    }


def job(batch, run, query="q"):
    properties = {
        "streaming.sql.batchId": str(batch),
        "spark.jobGroup.id": run,
        "sql.streaming.queryId": query,
    }
    return {"Event": "SparkListenerJobStart", "Submission Time": 1200, "Properties": properties}


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def write_log(run, *events, name="app-1.inprogress", tail=""):
    raw = run.raw_log(1)
    (raw / name).parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(one, separators=(",", ":")) for one in events]
    (raw / name).write_text("".join(f"{one}\n" for one in lines) + tail)


def extract(run):
    """Return the record in the history, and the events that are kept."""
    run.history.touch()
    record_engine(run, run.raw_log(1), 1, History(run.history))
    [record] = History(run.history).read()
    path = run.engine / "1.jsonl"
    return record, [json.loads(line) for line in path.read_text().splitlines()]


def test_a_task_that_failed_is_kept_with_its_batch(run):
    write_log(run, START, stage(0), task("Success"), task("ExecutorLostFailure"))
    record, events = extract(run)
    [event] = events
    assert (event["event"], event["at_ms"], event["batch"]) == ("task_failed", 2000, 3)
    assert record.proof["counts"] == {"tasks": 2, "task_failed": 1}
    assert record.proof["sha256"] == file_digest(run.engine / "1.jsonl")


@pytest.mark.parametrize("reason", ["TaskKilled", "TaskCommitDenied", "Resubmitted"])
def test_a_task_that_lost_to_another_is_no_failure(reason, run):
    write_log(run, START, task(reason))
    assert extract(run)[1] == []


def test_an_executor_that_was_given_up_and_a_stage_that_ran_again_are_kept(run):
    write_log(run, START, LOST, stage(0), stage(1))
    assert [one["event"] for one in extract(run)[1]] == ["executor_lost", "stage_again"]


def test_a_batch_that_another_run_of_the_query_runs_again_is_kept(run):
    write_log(run, START, job(3, "a"), job(3, "a"), job(4, "b"), job(3, "b"))
    assert [(one["event"], one["batch"]) for one in extract(run)[1]] == [("batch_again", 3)]


def test_a_batch_of_another_query_with_the_same_number_is_not_a_repeated_one(run):
    write_log(run, START, job(3, "a"), job(3, "b", query="other"))
    assert extract(run)[1] == []


def test_the_last_line_of_a_killed_driver_may_be_torn(run):
    write_log(run, START, LOST, tail='{"Event":"SparkListenerExecutorRemoved","Timest')
    record, events = extract(run)
    assert (len(events), record.proof["counts"]["torn"]) == (1, 1)


def test_a_rolled_log_is_read_whole(run):
    write_log(run, START, name="eventlog_v2_app-1/events_1_app-1")
    write_log(run, LOST, name="eventlog_v2_app-1/events_2_app-1")
    (run.raw_log(1) / "eventlog_v2_app-1/appstatus_app-1.inprogress").touch()
    assert [one["event"] for one in extract(run)[1]] == ["executor_lost"]


@pytest.mark.parametrize("kind", ["missing", "empty", "compressed"])
def test_a_log_that_cannot_be_read_is_unknown(kind, run):
    run.history.touch()
    if kind != "missing":
        write_log(run)
    if kind == "compressed":
        (run.raw_log(1) / "app-1.zstd").write_bytes(b"\x28\xb5\x2f\xfd" * 9)
    record_engine(run, run.raw_log(1), 1, History(run.history))
    [record] = History(run.history).read()
    assert (record.outcome, record.proof) == (
        Outcome.UNKNOWN,
        {"reason": "no event log"},
    )
    assert not run.engine.exists()


@pytest.mark.parametrize(
    "line", ['{"Event":"SparkListenerExecutorRemoved","Timest', '{"Event":"SparkListenerTaskEnd"}']
)
def test_a_whole_line_that_cannot_be_read_makes_the_record_unknown(line, run):
    run.history.touch()
    write_log(run, START, LOST, tail=f"{line}\n")
    record_engine(run, run.raw_log(1), 1, History(run.history))
    [record] = History(run.history).read()
    assert record.outcome is Outcome.UNKNOWN
    assert record.proof["reason"].startswith("the event log has an event that cannot be read")


def test_what_is_kept_is_bounded(run, monkeypatch):
    monkeypatch.setattr(engine_log, "MOST_EVENTS", 2)
    write_log(run, START, *[LOST] * 5)
    record, events = extract(run)
    assert (len(events), record.proof["counts"]["executor_lost"]) == (2, 5)


def test_settings_and_plans_are_not_kept(run):
    secret = {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"a": "hunter2"}}
    write_log(run, START, secret, LOST)
    extract(run)
    assert "hunter2" not in (run.engine / "1.jsonl").read_text() + run.history.read_text()
