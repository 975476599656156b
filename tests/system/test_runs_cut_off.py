"""Runs that are cut off: only the directory is left, and its verdict is not PASS."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from onceproof.job.attempt import job_processes
from onceproof.job.handle import find_agent, start_agent
from onceproof.machine.identity import all_processes
from onceproof.machine.polling import wait_for
from onceproof.past.store import open_store
from onceproof.phases.plan import make_plan
from onceproof.phases.prepare import prepare
from onceproof.phases.release import release
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import Plan
from onceproof.runs.records import Op
from onceproof.scenario.catalogue import find_scenario
from onceproof.stacks.members.brokers import ask
from tests.further import further_but
from tests.system.command import run, start
from tests.system.test_runs import scenario

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


@pytest.fixture
def begun(stack, tmp_path):
    """Start a run that would take minutes, on an existing stack or on its own."""

    def begin(*words):
        file = tmp_path / "scenario.yaml"
        slow = scenario("copy_events__upsert_table__calm", workload={"rate": 20})
        file.write_text(yaml.safe_dump(slow))
        return start("run", file, "--runs", tmp_path / "runs", *words)

    return begin


def directory(tmp_path):
    (plan,) = wait_for(lambda: list(tmp_path.glob("runs/*/*/plan.json")), 20, "there is no plan")
    return RunDirectory(plan.parent)


def has(run_directory, op):
    return any(one.op is op for one in History(run_directory.history).so_far())


def topics(stack):
    return ask(stack.brokers, lambda client: client.list_topics())


def nothing_is_left(stack, of):
    agent = find_agent(of)
    name = json.loads(of.plan.read_text())["run"]
    wait_for(lambda: not (agent and agent.is_alive), 60, "the agent lives")
    wait_for(lambda: not job_processes(name), 10, "the job lives")
    wait_for(lambda: not named(of.root), 30, "a process of the run lives")
    wait_for(lambda: f"{name}.events" not in topics(stack), 60, "the topic is there")
    assert not (of.root / "spark-local").exists()
    assert not of.spark_recompute.exists()


def named(folder):
    """Return every process with the folder in its command line, such as phases and their JVMs."""
    return [one for one in all_processes() if any(str(folder) in word for word in one.arguments())]


MOMENTS = [Op.PHASE_START, Op.ATTEMPT_START, Op.BATCH_COMMIT]


@pytest.mark.parametrize("moment", further_but([Op.BATCH_COMMIT], MOMENTS))
def test_ctrl_c_leaves_nothing_and_the_run_is_unknown(begun, stack, tmp_path, moment):
    child = begun("--home", stack.state.folder)
    of = directory(tmp_path)
    wait_for(lambda: has(of, moment), 90, f"no {moment}")
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=90)
    assert child.returncode == 2, err
    assert "interrupted" in err
    assert json.loads(of.verdict.read_text())["verdict"] == "UNKNOWN"
    (row,) = open_store(tmp_path / "runs" / "history.sqlite").entries()
    assert row.verdict == "UNKNOWN"
    nothing_is_left(stack, of)


def test_a_command_that_is_killed_is_released_by_its_agent(begun, stack, tmp_path):
    child = begun("--home", stack.state.folder)
    of = directory(tmp_path)
    wait_for(lambda: has(of, Op.ATTEMPT_START), 60, "the job was not started")
    child.kill()
    child.communicate(timeout=60)
    nothing_is_left(stack, of)
    store = open_store(tmp_path / "runs" / "history.sqlite")
    (row,) = store.entries()
    assert (row.verdict, row.is_judged) == ("UNKNOWN", False)
    assert run("judge", of.root)[0] == 2
    (row,) = store.entries()
    assert (row.verdict, row.is_judged) == ("UNKNOWN", True)


def test_a_job_ends_with_its_agent_and_is_not_started_again(begun, stack, tmp_path):
    child = begun("--home", stack.state.folder)
    of = directory(tmp_path)
    wait_for(lambda: has(of, Op.ATTEMPT_START), 60, "the job was not started")
    agent = find_agent(of)
    agent.send(signal.SIGKILL)
    _, err = child.communicate(timeout=90)
    assert child.returncode == 2, err
    assert find_agent(of) == agent
    nothing_is_left(stack, of)
    found = json.loads(of.verdict.read_text())
    assert any("process has no recorded end" in reason for reason in found["reasons"])


def test_concurrent_starts_make_one_agent(stack, tmp_path):
    run_of = begun_by_hand(stack, tmp_path)
    with ThreadPoolExecutor(4) as pool:
        agents = set(pool.map(lambda _: start_agent(run_of), range(4)))
    try:
        (agent,) = agents
        assert start_agent(run_of) == agent
        starts = wait_for(lambda: counted(run_of, Op.ATTEMPT_START), 30, "the job was not started")
        assert starts == 1
    finally:
        release(run_of, Plan.read(run_of.plan))
    assert start_agent(run_of) == agent  # dead, and not replaced
    assert not agent.is_alive
    nothing_is_left(stack, run_of)


def begun_by_hand(stack, tmp_path):
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(scenario("copy_events__upsert_table__calm")))
    run_of = make_plan(find_scenario(str(file)), 7, tmp_path / "runs")
    prepare(run_of, Plan.read(run_of.plan), stack.state.folder)
    return run_of


def counted(run_of, op):
    return sum(one.op is op for one in History(run_of.history).so_far())
