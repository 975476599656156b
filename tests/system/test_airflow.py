"""Runs and nights in a real Airflow, with scheduler, triggerer, and an API server with login."""

import json
from configparser import RawConfigParser
from pathlib import Path

import pytest
import yaml

from onceproof.airflow.client import OVER, Airflow
from onceproof.errors import StackError
from onceproof.job.attempt import job_processes
from onceproof.job.handle import find_agent
from onceproof.machine.identity import all_processes
from onceproof.machine.polling import wait_for
from onceproof.past.record import history_of
from onceproof.past.store import open_store
from onceproof.runs.directory import RunDirectory
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.airflow import password_of
from onceproof.stacks.members.brokers import ask
from onceproof.stacks.state import MARK
from tests.listeners import listeners_of
from tests.system.test_runs import ROOT, kill, scenario

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
NIGHT, RUN, GATE = "onceproof_nightly", "onceproof_run", "onceproof_gate"
FEW = {"events": 2000}
PLANTED = "a-password-that-must-stay-secret"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("airflow") / "runs"


@pytest.fixture(scope="module")
def night_stack(stacks_folder, runs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # the folder of `tests.sinks_that_lie`
        patch.setenv("ONCEPROOF_PLANTED", PLANTED)
        with LocalStack.up(stacks_folder / "night", brokers=1, airflow_runs=runs) as stack:
            yield stack


@pytest.fixture
def airflow(night_stack):
    return Airflow.of(night_stack)


@pytest.fixture
def file(tmp_path):
    def write(name, **fields):
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(scenario(name, **fields)))
        return str(path)

    return write


def ended(airflow, dag, run):
    wait_for(lambda: airflow.state(dag, run) in OVER, 250, f"{run} does not end", every_s=0.5)
    return {name: task["state"] for name, task in airflow.tasks(dag, run).items()}


def verdict(airflow, run):
    return airflow.xcom(RUN, run, "judge", "verdict")


def nothing_is_left(stack, directory):
    run = RunDirectory(Path(directory))
    name = json.loads(run.plan.read_text())["run"]
    agent = find_agent(run)
    assert not (agent and agent.is_alive)
    assert job_processes(name) == []
    assert [
        topic
        for topic in ask(stack.brokers, lambda client: client.list_topics())
        if topic.startswith(name)
    ] == []
    assert run.released.exists()


def test_a_broken_sink_fails_the_night_and_closes_the_gate_until_it_is_fixed(
    airflow, night_stack, file, runs, tmp_path
):
    name = "copy_events__shipped__kill_executor"
    liar = {"name": "tests.sinks_that_lie:drops_rows", "every": 1000}
    fault = kill("executor", failpoint="task_mid", batch=2)
    path = file(name, sink=liar, faults=[fault], workload=FEW)
    night = airflow.trigger(
        NIGHT, {"tags": [], "scenarios": [path], "first_seed": 5, "subject": "v1"}
    )
    states = ended(airflow, NIGHT, night)
    assert states == {"pick": "success", "run[0]": "failed", "summary": "failed"}
    (document,) = airflow.xcom(NIGHT, night, "summary", "verdict")
    assert document["verdict"] == "FAIL"
    assert document["differences"]["lost"] > 0
    run = f"{night}__{name}__5"
    tasks = {name: task["state"] for name, task in airflow.tasks(RUN, run).items()}
    assert {name for name, state in tasks.items() if state == "failed"} == {"validate", "judge"}
    assert airflow.tasks(NIGHT, night)["run[0]"]["rendered_map_index"].startswith("copy_events__")
    nothing_is_left(night_stack, document["run"])
    (asked,) = open_store(history_of(runs)).nights()
    assert (asked.name, asked.asked) == (night, {name: [5]})
    policy = tmp_path / "gate.yaml"
    policy.write_text(yaml.safe_dump({"require": [{"scenario": path, "passes": 1}]}))
    assert gate(airflow, policy, "v1") == ("failed", 1)
    assert gate(airflow, policy, "v2") == ("failed", 2)
    honest = "onceproof.sinks.tables.two_phase_table:TwoPhaseTable"
    assert file(name, sink=honest, faults=[fault], workload=FEW) == path
    passes_from_its_trigger_to_its_verdict(airflow, night_stack, path, fault, "v2")
    assert gate(airflow, policy, "v2") == ("success", 0)


def passes_from_its_trigger_to_its_verdict(airflow, stack, path, fault, version):
    run = airflow.trigger(RUN, {"scenario": path, "seed": 7, "subject": version})
    states = ended(airflow, RUN, run)
    assert set(states.values()) == {"success"}, states
    document = verdict(airflow, run)
    assert (document["verdict"], document["as_claimed"]) == ("PASS", True)
    assert airflow.xcom(RUN, run, "disturb", "return_value")["faults"].keys() == {fault["name"]}
    events = airflow.get("assets/events")["asset_events"]
    last = max((one for one in events if "onceproof://" in one["uri"]), key=lambda one: one["id"])
    assert last["uri"] == f"onceproof://verdict/{Path(path).stem}"
    assert last["extra"]["verdict"] == "PASS"
    assert link(airflow, run, "judge") == {"Report": f"/onceproof/report/{document['name']}"}
    assert link(airflow, run, "validate") == {
        "Expectations": f"/onceproof/report/{document['name']}#expectations"
    }
    nothing_is_left(stack, document["run"])


def link(airflow, run, task):
    found = airflow.get(f"dags/{RUN}/dagRuns/{run.replace('+', '%2B')}/taskInstances/{task}/links")
    return found["extra_links"]


def gate(airflow, policy, version):
    """Return the final state of the gate's DAG, and the exit code of its decision."""
    run = airflow.trigger(GATE, {"policy": str(policy), "version": version})
    ended(airflow, GATE, run)
    decision = airflow.xcom(GATE, run, "decide", "return_value")
    return airflow.state(GATE, run), decision["exit"]


def test_a_gate_without_approval_stays_closed(airflow, night_stack, runs):
    policy = runs.parent / "gate.yaml"  # the default path
    policy.write_text(yaml.safe_dump({"require": [{"tag": "nightly", "passes": 1}]}))
    conf = {"version": "v0", "approval": True}
    assert answered(airflow, night_stack, conf, "Reject") == "failed"
    assert answered(airflow, night_stack, conf, "Approve") == "success"


def answered(airflow, stack, conf, answer):
    """Return the final state of the gate's DAG after this answer to its approval."""
    run = airflow.trigger(GATE, conf)
    log = stack.state.log("airflow:scheduler")

    def is_asked():  # an answer before the scheduler has deferred the task would fail it
        return any(
            "executor event with state success" in line and "'approval'" in line and run in line
            for line in log.read_text().splitlines()
        )

    wait_for(is_asked, 60, "no approval is requested")
    task = f"dags/{GATE}/dagRuns/{run.replace('+', '%2B')}/taskInstances/approval/-1"
    body = {"chosen_options": [answer], "params_input": {}}
    airflow.send("PATCH", f"{task}/hitlDetails", body)
    ended(airflow, GATE, run)
    return airflow.state(GATE, run)


# What runs after any failure: tests/dags; a run whose job was ended: test_runs_cut_off.py.
# `make prove PART=airflow` marks this task as failed too.
@pytest.mark.long
def test_a_run_with_a_failed_task_is_unknown_and_leaves_nothing(airflow, night_stack, file):
    path = file("copy_events__upsert_table__calm", workload={"rate": 100})
    run = airflow.trigger(RUN, {"scenario": path, "seed": 1})

    def is_deferred():
        return airflow.tasks(RUN, run).get("process", {}).get("state") == "deferred"

    wait_for(is_deferred, 90, "the job does not start", every_s=0.3)
    task = f"dags/{RUN}/dagRuns/{run.replace('+', '%2B')}/taskInstances/process"
    airflow.send("PATCH", task, {"new_state": "failed"})
    states = ended(airflow, RUN, run)
    assert (states["process"], states["judge"], states["release"]) == (
        *("failed", "failed"),
        "success",
    )
    document = verdict(airflow, run)
    assert document["verdict"] == "UNKNOWN"
    nothing_is_left(night_stack, document["run"])


def test_airflow_listens_on_loopback_only(airflow, night_stack):
    found = {one for life in night_stack.state.processes() for one in listeners_of(life.pid)}
    assert ("127.0.0.1", night_stack.state.ports["airflow"]) in found
    assert [host for host, _ in found if not host.startswith("127.")] == []


def test_a_form_with_an_invalid_field_is_refused(airflow):
    with pytest.raises(StackError, match=r"400.*seed"):
        airflow.trigger(RUN, {"seed": -1})
    with pytest.raises(StackError, match=r"400.*tags"):
        airflow.trigger(NIGHT, {"tags": ["nigthly"]})


def test_no_secret_reaches_runs_logs_or_xcoms(airflow, night_stack, runs):
    place = night_stack.state.place("airflow")
    settings = RawConfigParser()
    settings.read(place / "airflow.cfg")
    secrets = [
        *(PLANTED, password_of(night_stack.state), settings["api_auth"]["jwt_secret"]),
        *(settings["core"]["fernet_key"], settings["api"]["secret_key"]),
    ]
    ran = list(runs.glob("*/*/verdict.json"))
    assert ran, "without a run the test would prove nothing"
    logs = [night_stack.state.log(name).parent for name in night_stack.members]
    paths = [path for folder in {runs, place / "logs", *logs} for path in folder.rglob("*")]
    paths += place.glob("airflow.db*")  # the XComs
    for path in filter(Path.is_file, paths):
        text = path.read_bytes()
        assert [one for one in secrets if one.encode() in text] == [], path


def test_workers_that_outlive_their_scheduler_end_with_the_stack(night_stack):
    """It is the last test of this file, since it takes the stack down."""
    state = night_stack.state
    main = state.identity("airflow:scheduler")
    workers = [one for one in all_processes() if one.session == main.pid and one != main]
    assert [one for one in workers if not one.has_environment(MARK, state.mark)] != []
    main.send(9)
    wait_for(lambda: not main.is_alive, 10, "the scheduler does not end")
    assert [one for one in workers if one.is_alive] == workers
    night_stack.down()
    assert [one for one in workers if one.is_alive] == []
