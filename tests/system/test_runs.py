"""Whole runs: controls that must fail, sinks that must pass, and a fault that never strikes.

CI has the last of them. The others are `long`; each names the tests of CI that show what it shows.
"""

import json
import os
from pathlib import Path

import pytest
import yaml
from jsonschema import validate

from onceproof.gates.verification import trouble_of
from onceproof.past.store import open_store
from onceproof.runs.history import History
from onceproof.runs.records import Op
from tests.system.command import SCHEMAS, run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
ROOT = Path(__file__).parents[2]
SMALL = {"events": 4000, "partitions": 4}


def scenario(name, **fields):
    pipeline, sink, _ = name.split("__")
    workload = SMALL | fields.pop("workload", {})
    found = {"name": name, "pipeline": pipeline, "sink": sink, "max_offsets": 500}
    return found | {"workload": workload, "limits": {"run_s": 200, "stall_s": 60}} | fields


def kill(target, **when):
    return {
        "name": f"kill_{len(when)}_{target.partition(':')[0]}",
        "do": "kill",
        "target": target,
    } | {"when": when}


@pytest.fixture
def outcome(stack, tmp_path):
    """Run a scenario, and return its exit code and its verdict document."""

    def live(name, seed=7, **fields):
        file = tmp_path / "scenario.yaml"
        file.write_text(yaml.safe_dump(scenario(name, **fields)))
        words = ["run", file, "--seed", seed, "--runs", tmp_path / "runs", "--json"]
        path = f"{ROOT}:{ROOT / 'src'}"  # for `tests.sinks_that_lie`
        code, out, err = run(*words, "--home", stack.state.folder, PYTHONPATH=path, timeout_s=280)
        assert out, err
        document = json.loads(out)
        validate(document, json.loads((SCHEMAS / "verdict.json").read_text()))
        return code, document

    return live


def seen(document):
    return {name: count for name, count in document["differences"].items() if count}


# A FAIL with the batch to blame: test_tutorial.py; its step: tests/unit/judging.
@pytest.mark.long
def test_a_control_has_a_batch_that_was_applied_twice(outcome, tmp_path):
    code, found = outcome(
        "copy_events__append_table__kill_driver",
        faults=[kill("driver", failpoint="written", batch=3)],
        hold_to="exactly-once",
        claims="FAIL",
        anomalies=["duplicated"],
    )
    assert (code, found["verdict"], found["as_claimed"]) == (0, "FAIL", True)
    extra = found["differences"]["duplicated"]
    assert found["counts"]["observed"] == found["counts"]["expected"] + extra
    blamed = [one for one in found["blame"] if one["class"] == "duplicated"]
    assert {(one["batch"], one["step"], one["fault"]) for one in blamed} == {
        (3, "written", found["faults"][0]["name"])
    }
    assert all(one["offset"] is not None for one in blamed)
    (row,) = open_store(tmp_path / "runs" / "history.sqlite").entries()
    assert (row.run, row.is_proved, row.landed) == (found["plan"]["run"], True, 1)
    assert trouble_of(row) == ""  # the evidence does not change after it was recorded


# A leader: test_external.py; an executor: test_fault_families.py; a driver: test_pytest_suite.py.
@pytest.mark.long
def test_an_upsert_outlives_leader_executor_and_driver(outcome):
    faults = [
        kill("broker:leader=0", acknowledged=0.2),
        kill("executor", failpoint="task_done", batch=2) | {"effect": "retried"},
        kill("driver", failpoint="written", batch=4),
    ]
    code, found = outcome(
        "app_views__upsert_table__kill_all", faults=faults, workload={"rate": 500}
    )
    assert (code, found["verdict"]) == (0, "PASS"), found["reasons"]
    assert [fault["landed"] for fault in found["faults"]] == [True, True, True]
    assert found["faults"][0]["healed_at"]


# An undone part that is recorded: test_fault_families.py; superseded drivers: test_data_source.py
# and test_table_protocols.py in tests/contract; the strikes: `make prove PART=landing`.
@pytest.mark.long
def test_a_replaced_attempt_that_goes_on_is_fenced_and_recorded(outcome):
    faults = [
        {"do": "pause", "target": "executor", "when": {"failpoint": "task_mid", "batch": 2}},
        {"do": "start", "target": "driver", "when": {"failpoint": "all_pre_committed", "batch": 5}},
    ]
    code, found = outcome(
        "copy_events__two_phase_table__replaced", faults=faults, workload={"rate": 300}
    )
    assert (code, found["verdict"]) == (0, "PASS"), found["reasons"]
    assert [fault["landed"] for fault in found["faults"]] == [True, True]
    records = History(Path(found["run"]) / "history.jsonl").read()
    fenced = {(one.batch, one.proof["part"]) for one in records if one.op is Op.FENCED}
    held = {one.batch for one in records if one.op is Op.FAULT_STRIKE}
    assert {batch for batch, _ in fenced} == held
    (woken,) = (one for one in records if one.op is Op.FAULT_HEAL)
    assert woken.proof["committed_before"] >= min(held)
    starts = [one.proof.get("beside") for one in records if one.op is Op.ATTEMPT_START]
    assert starts == [None, 1]


# The damage: tests/spark/test_damage.py; late rows: tests/spark/test_calm_streams.py.
@pytest.mark.long
def test_an_unaligned_checkpoint_counts_twice_and_late_rows_are_told_from_lost_ones(outcome):
    damage = {"name": "unaligned", "do": "damage", "target": "checkpoint:unaligned"}
    code, found = outcome(
        "sliding_counts__append_table__unaligned",
        state_store="rocksdb",
        faults=[damage | {"when": {"failpoint": "commit_logged", "batch": 3}}],
        restart={"strategy": "fixed-delay", "attempts": 3, "delay_s": 0.5},
        workload={"late": 0.05, "late_by_ms": 20_000},
        claims="FAIL",
        anomalies=["changed"],
    )
    assert (code, found["verdict"]) == (0, "FAIL"), found["reasons"]
    recomputed = json.loads((Path(found["run"]) / "recomputed.json").read_text())
    assert found["counts"]["late"] == recomputed["late"] > 0
    assert recomputed["r0"]["differ"] > 0
    assert found["differences"]["changed"] > 0
    (restarted,) = (one for one in found["findings"] if one["checker"] == "restarted")
    assert "differs from the archive" in restarted["reason"]
    assert all(
        "ran on the checkpoint that unaligned damaged" in one["sentence"] for one in found["blame"]
    )
    sample = found["samples"][0]
    assert sample["observed"][0]["events"] > sample["expected"][0]["events"]


def test_a_fault_that_never_strikes_is_unknown_and_the_runs_own_stack_is_taken_down(tmp_path):
    before = own_stacks()
    file = tmp_path / "scenario.yaml"
    fields = scenario(
        "copy_events__upsert_table__kill_driver",
        faults=[kill("driver", failpoint="written", batch=900)],
        workload={"events": 500},
    )
    file.write_text(yaml.safe_dump(fields))
    code, out, err = run("run", file, "--runs", tmp_path / "runs", "--json", timeout_s=200)
    found = json.loads(out)
    assert (code, found["verdict"]) == (2, "UNKNOWN"), err
    assert any("never struck" in reason for reason in found["reasons"])
    assert seen(found).keys() <= {"torn"}
    assert found["counts"]["observed"] == found["counts"]["expected"] > 0
    assert own_stacks() == before


def own_stacks():
    """Return the folders of stacks that runs have started for themselves."""
    home = Path(os.environ.get("ONCEPROOF_HOME") or "/var/cache/onceproof")
    return set(home.glob("stacks/*"))
