"""Jobs of users that fail: the reason is reported in time, and nothing is left."""

import json
import sys
import time
from pathlib import Path

import pytest
import yaml

from onceproof.job.attempt import job_processes
from onceproof.machine.polling import wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.records import Op
from onceproof.stacks.members.brokers import ask
from tests.system.command import run, start

pytestmark = [pytest.mark.stack, pytest.mark.system]
FORGED = [sys.executable, str(Path(__file__).parent / "forged_job.py")]
FORGED += ["{bootstrap}", "{topic}", "{checkpoint}"]
LIMITS = {"run_s": 60, "stall_s": 3}
OURS = {"reference": "onceproof.references.copy_events:REFERENCE"}


@pytest.fixture
def words(stack, tmp_path):
    """Return the arguments of a command that runs a job with this command line."""

    def written(*command, pipeline=OURS, **fields):
        found = {
            "name": "orders__upsert_table__calm",
            "pipeline": {"command": list(command), **pipeline},
            "sink": "upsert_table",
            "workload": {"events": 200, "partitions": 1},
            "restart": "none",
            "limits": LIMITS,
        }
        file = tmp_path / "scenario.yaml"
        file.write_text(yaml.safe_dump(found | fields))
        return ["run", file, "--runs", tmp_path / "runs", "--home", stack.state.folder, "--json"]

    return written


@pytest.fixture
def reason_of(words, stack):
    """Run a job to its UNKNOWN, check that nothing is left, and return the first reason."""

    def live(*command, **fields):
        code, out, err = run(*words(*command, **fields))
        found = json.loads(out)
        assert (code, found["verdict"]) == (2, "UNKNOWN"), err
        nothing_is_left(stack, found["plan"]["run"])
        return found["reasons"][0]

    return live


def nothing_is_left(stack, name):
    assert job_processes(name) == []
    topics = ask(stack.brokers, lambda client: client.list_topics())
    assert f"{name}.events" not in topics


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-program"], "program 'no-such-program' of the command does not exist"),
        ([sys.executable, "job.py"], "file 'job.py' of the command does not exist"),
        ([sys.executable, "{here}/gone.py"], "gone.py' of the command does not exist"),
    ],
)
def test_a_command_that_does_not_exist_is_refused_before_there_is_a_run(
    words, tmp_path, command, message
):
    code, out, refused = run(*words(*command))
    assert (code, out) == (3, "")
    assert message in refused
    assert not (tmp_path / "runs").exists()


def test_a_job_that_fails_at_once_is_quoted(reason_of):
    began = time.monotonic()
    reason = reason_of(sys.executable, "-c", "raise SystemExit('no such table: orders')")
    assert "attempt 1 failed (its process ended), and the restart strategy gave up" in reason
    assert "logs/driver-1.log: no such table: orders" in reason
    assert time.monotonic() - began < LIMITS["run_s"]


def test_a_job_without_the_runs_checkpoint_is_reported(reason_of):
    reason = reason_of(sys.executable, "-c", "import time; time.sleep(600)")
    assert "attempt 1 failed (no progress in 3 s)" in reason
    assert "it planned no batch in /" in reason
    assert "{checkpoint} in its command, as checkpointLocation" in reason


# The same end as of the job above; the sentences: tests/unit/job/test_last_error.py.
@pytest.mark.long
def test_a_job_that_never_commits_is_reported_with_its_batch(reason_of, tmp_path):
    offsets = '["v1", \'{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\', \'{"t":{"0":1}}\']'
    job = tmp_path / "stuck.py"
    job.write_text(
        "import os, sys, time\n"
        "os.makedirs(sys.argv[1] + '/offsets')\n"
        f"open(sys.argv[1] + '/offsets/0', 'w').write('\\n'.join({offsets}))\n"
        "time.sleep(600)\n"
    )
    reason = reason_of(sys.executable, "{here}/stuck.py", "{checkpoint}")
    assert "no progress in 3 s" in reason
    assert "it planned batch 0 and committed none" in reason


def test_a_job_in_turns_that_reads_nothing_is_reported(reason_of):
    limits = LIMITS | {"stall_s": 10}
    reason = reason_of(sys.executable, "-c", "pass", lives="in_turns", limits=limits)
    assert "ended its turn with exit code 0, but in 10 s no turn has planned or" in reason
    assert "it planned no batch in /" in reason


def test_a_job_in_turns_that_does_not_end_is_reported(reason_of):
    reason = reason_of(*FORGED, lives="in_turns", limits=LIMITS | {"stall_s": 10})
    assert "attempt 1 failed (it did not end by itself in 10 s after its last commit)" in reason


def test_an_output_without_rows_is_named(reason_of):
    reason = reason_of(*FORGED, limits=LIMITS | {"stall_s": 30})
    assert reason.startswith("compare failed: no reader ever saw a row in orders_upsert_table_calm")
    assert "and 201 are expected" in reason


# The sentence: tests/contract/test_outputs.py.
@pytest.mark.long
def test_a_missing_key_is_named_with_the_columns_of_the_output(reason_of):
    reason = reason_of(
        *FORGED,
        pipeline={"reference": "each_once", "key": ["order_id"]},
        name="orders__table__calm",
        sink={"name": "table", "create": "create table {target} (id bigint, amount bigint)"},
        workload={"name": "template", "value": {"id": "id"}, "events": 200, "partitions": 1},
        limits=LIMITS | {"stall_s": 30},
    )
    assert reason.startswith("observe failed: orders_table_calm")
    assert "has no column order_id; write the scenario's `key`" in reason


def test_a_topic_with_records_of_another_program_is_named(words, stack, tmp_path):
    from kafka import KafkaProducer

    child = start(*words(*FORGED, workload={"events": 200, "partitions": 1, "rate": 50}))
    (plan,) = wait_for(lambda: list(tmp_path.glob("runs/*/*/plan.json")), 20, "there is no plan")
    of = RunDirectory(plan.parent)
    wait_for(lambda: sent(of), 30, "nothing was sent")
    name = json.loads(plan.read_text())["run"]
    producer = KafkaProducer(bootstrap_servers=stack.brokers.bootstrap)
    producer.send(f"{name}.events", b"not mine", partition=0).get(20)
    producer.close()
    out, err = child.communicate(timeout=120)
    assert child.returncode == 2, err
    reason = json.loads(out)["reasons"][0]
    assert "but the ledger has 201: another producer wrote to it" in reason
    nothing_is_left(stack, name)


def sent(of):
    return any(one.op is Op.INPUT_PROGRESS for one in History(of.history).so_far())
