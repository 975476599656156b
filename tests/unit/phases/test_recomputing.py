"""The process that recomputes: it waits for the job, and its crash is an error."""

import json
import os
import signal
import subprocess
import sys

import pytest

from onceproof.errors import StackError
from onceproof.machine.identity import Identity, all_processes
from onceproof.machine.polling import wait_for
from onceproof.phases.phase import await_agent, await_first_commit, is_running
from onceproof.phases.recomputing import recomputing
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import Plan
from onceproof.runs.records import Op, Outcome
from tests.plans import plan_document


@pytest.fixture
def run(tmp_path):
    """A run without commits, whose agent is this process."""
    found = RunDirectory(tmp_path)
    found.plan.write_text(json.dumps(plan_document()))
    found.logs.mkdir()
    has_agent(found, Identity.of(os.getpid()))
    return found


def has_agent(run, agent):
    document = {"pid": agent.pid, "started": agent.started}
    (run.root / "agent.json").write_text(json.dumps(document))


def commit(run):
    path = run.checkpoint_log / "commits" / "0"
    path.parent.mkdir(parents=True)
    path.write_text('v1\n{"nextBatchWatermarkMs": 0}')


def child_of(run):
    """Return the process that recomputes, found by the run in its command line."""

    def look():
        named = [one for one in all_processes() if str(run.root) in one.arguments()]
        return next((one for one in named if "onceproof.phases.recomputing" in one.arguments()), 0)

    return wait_for(look, 20, "no process recomputes")


def test_a_process_that_is_killed_is_an_error_with_its_signal(run):
    with recomputing(run, 20) as result:
        child_of(run).send(signal.SIGKILL)
        with pytest.raises(StackError, match="SIGKILL"):
            result()


def test_a_process_that_cannot_read_the_plan_is_an_error_with_its_last_line(run):
    run.plan.write_text("{}")
    with recomputing(run, 20) as result, pytest.raises(StackError, match="plan"):
        result()


def test_a_phase_that_failed_is_an_error_though_its_process_lives(run):
    with recomputing(run, 20) as result:
        child_of(run)
        History(run.history).append(
            "recompute", Op.PHASE_END, Outcome.FAILED, proof={"reason": "a gap"}
        )
        with pytest.raises(StackError, match="gap"):
            result()


def test_nothing_outlives_the_block(run):
    with recomputing(run, 20):
        child = child_of(run)
    assert not child.is_alive


def test_nothing_outlives_a_process_that_is_killed(run):
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from onceproof.phases.recomputing import recomputing\n"
        "from onceproof.runs.directory import RunDirectory\n"
        "with recomputing(RunDirectory(Path(sys.argv[1])), 20) as result:\n"
        "    result()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, run.root])
    child = child_of(run)
    parent.kill()
    parent.wait()
    wait_for(lambda: not child.is_alive, 10, "it outlives its parent")


def test_the_first_commit_is_waited_for(run):
    with pytest.raises(StackError, match="batch"):
        await_first_commit(run, 0)
    commit(run)
    await_first_commit(run, 0)


def test_the_wait_for_a_commit_ends_with_the_agent(run):
    agent = Identity.of(os.getpid())
    has_agent(run, Identity(agent.pid, agent.started - 1))
    assert not is_running(run)
    await_first_commit(run, 0)


def test_an_agent_is_waited_for_until_its_work_is_recorded(run):
    plan = Plan.read(run.plan)
    History(run.history).append("process", Op.PHASE_START)
    History(run.history).append("process", Op.PHASE_END)
    await_agent(run, plan)  # the agent is still alive
    proof = {"reason": "it stalled"}
    History(run.history).append("process", Op.PHASE_END, Outcome.FAILED, proof=proof)
    with pytest.raises(StackError, match="stalled"):
        await_agent(run, plan)


def test_an_agent_that_crashed_is_an_error(run):
    me = Identity.of(os.getpid())
    has_agent(run, Identity(me.pid, me.started - 1))
    History(run.history).append("process", Op.PHASE_START)
    with pytest.raises(StackError, match=r"agent\.log"):
        await_agent(run, Plan.read(run.plan))
