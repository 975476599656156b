"""The tasks of a night: a red run is not tried again, whatever became of the task that told it."""

import json
import os
import subprocess
import sys

import pytest

from tests.unit.handwritten_run import HandwrittenRun
from tests.unit.night_runs import judged, lossy

# What Airflow would do is left out; each night is what its XComs hold, by run and task.
DRIVEN = """
import json, sys
from onceproof.airflow import night_operators as nights

class Task:
    def __init__(self, pulled): self.pulled = pulled
    def xcom_pull(self, task_ids, key=None, dag_id=None, run_id=None):
        return self.pulled.get(f"{run_id} {task_ids}") if run_id else [{"trigger_run_id": "r"}]
    def xcom_push(self, key, value): said["told"] = [one["verdict"] for one in value]

def tried(ask):
    try:
        ask()
    except nights.AirflowFailException as error:
        return str(error)
    return "green"

found = {}
nights.TriggerDagRunOperator.execute = lambda one, _: said["again"].append(one.trigger_run_id)
for name, pulled in json.loads(sys.argv[1]).items():
    said = found[name] = {"again": []}
    context = {"ti": Task(pulled)}
    run = nights.ScenarioOperator(task_id="run", until="", run_label="", trigger_run_id="r")
    said["run"] = tried(lambda: run.execute_complete(context, (None, {"run_ids": ["r"]})))
    said["summary"] = tried(lambda: nights.NightOperator(task_id="summary").execute(context))
print(json.dumps(found))
"""


def told(verdict):
    return {"run": "r", "verdict": verdict, "as_claimed": verdict == "PASS", "reasons": ["why"]}


def released(made, runs, name):
    run = judged(made, runs, name)
    run.released.touch()
    return str(run.root)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """What the tasks of several nights make of what was told."""
    folder = tmp_path_factory.mktemp("nights")
    again = {"r__again judge": told("PASS")}
    pulled = {
        "red": {"r plan": released(lossy(), folder / "runs", "run_1")},
        "green": {"r plan": released(HandwrittenRun(), folder / "runs", "run_2")},
        "unplanned": {},
        "unjudged": {"r plan": str(folder)},
        "unknown": {"r judge": told("UNKNOWN")},
        "unknown, then green": {"r judge": told("UNKNOWN")} | again,
        "red, then green": {"r judge": told("FAIL")} | again,
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVEN, json.dumps(pulled)],
        env=os.environ | {"AIRFLOW_HOME": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_red_run_whose_judge_told_nothing_is_red_and_not_tried_again(nights):
    found = nights["red"]
    assert (found["again"], found["told"]) == ([], ["FAIL"])
    assert found["run"].startswith("r: 1 row lost")
    assert found["summary"].startswith("1 of 1 are not as claimed")


def test_a_run_as_claimed_whose_judge_told_nothing_is_not_tried_again(nights):
    assert nights["green"] == {"again": [], "run": "green", "told": ["PASS"], "summary": "green"}


@pytest.mark.parametrize("name", ["unplanned", "unjudged", "unknown"])
def test_a_run_without_a_verdict_or_with_an_unknown_one_is_tried_again(nights, name):
    assert nights[name]["again"] == ["r__again"]
    assert nights[name]["summary"].startswith("1 of 1 are not as claimed")


def test_a_second_try_counts_behind_an_unknown_run_and_not_behind_a_red_one(nights):
    assert nights["unknown, then green"]["told"] == ["PASS"]
    assert nights["red, then green"]["told"] == ["FAIL"]
