"""The tasks of a night: a failed run is not retried, even if its judge task returned nothing."""

import json
import os
import subprocess
import sys

import pytest

from tests.unit.handwritten_run import HandwrittenRun
from tests.unit.night_runs import judged, lossy

# Airflow's own work is left out; a night is given by its XComs, by run and task.
DRIVEN = """
import json, sys
from onceproof.airflow import night_operators as nights

class Task:
    def __init__(self, pulled): self.pulled = pulled
    def xcom_pull(self, task_ids, key=None, dag_id=None, run_id=None):
        return self.pulled.get(f"{run_id} {task_ids}") if run_id else [{"trigger_run_id": "r"}]
    def xcom_push(self, key, value): result["verdicts"] = [one["verdict"] for one in value]

def outcome_of(task):
    try:
        task()
    except nights.AirflowFailException as error:
        return str(error)
    return "green"

found = {}
nights.TriggerDagRunOperator.execute = lambda one, _: result["retries"].append(one.trigger_run_id)
for name, pulled in json.loads(sys.argv[1]).items():
    result = found[name] = {"retries": []}
    context = {"ti": Task(pulled)}
    run = nights.ScenarioOperator(task_id="run", until="", run_label="", trigger_run_id="r")
    result["run"] = outcome_of(lambda: run.execute_complete(context, (None, {"run_ids": ["r"]})))
    result["summary"] = outcome_of(lambda: nights.NightOperator(task_id="summary").execute(context))
print(json.dumps(found))
"""


def summary(verdict):
    return {"run": "r", "verdict": verdict, "as_claimed": verdict == "PASS", "reasons": ["why"]}


def released(made, runs, name):
    run = judged(made, runs, name)
    run.released.touch()
    return str(run.root)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The results of the tasks of several nights."""
    folder = tmp_path_factory.mktemp("nights")
    retry = {"r__again judge": summary("PASS")}
    pulled = {
        "red": {"r plan": released(lossy(), folder / "runs", "run_1")},
        "green": {"r plan": released(HandwrittenRun(), folder / "runs", "run_2")},
        "unplanned": {},
        "unjudged": {"r plan": str(folder)},
        "unknown": {"r judge": summary("UNKNOWN")},
        "unknown, then green": {"r judge": summary("UNKNOWN")} | retry,
        "red, then green": {"r judge": summary("FAIL")} | retry,
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVEN, json.dumps(pulled)],
        env=os.environ | {"AIRFLOW_HOME": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_failed_run_without_a_summary_of_its_judge_is_not_retried(nights):
    found = nights["red"]
    assert (found["retries"], found["verdicts"]) == ([], ["FAIL"])
    assert found["run"].startswith("r: 1 row lost")
    assert "1 of 1" in found["summary"]


def test_a_run_as_claimed_without_a_summary_of_its_judge_is_not_retried(nights):
    green = {"retries": [], "run": "green", "verdicts": ["PASS"], "summary": "green"}
    assert nights["green"] == green


@pytest.mark.parametrize("name", ["unplanned", "unjudged", "unknown"])
def test_a_run_with_an_unknown_or_no_verdict_is_retried(nights, name):
    assert nights[name]["retries"] == ["r__again"]
    assert "1 of 1" in nights[name]["summary"]


def test_a_retry_counts_after_an_unknown_run_and_not_after_a_failed_one(nights):
    assert nights["unknown, then green"]["verdicts"] == ["PASS"]
    assert nights["red, then green"]["verdicts"] == ["FAIL"]
