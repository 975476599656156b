"""One run with a fault of each family of the catalogue, on a stack with links.

The process's is the kill of an executor; drivers are killed in other whole runs.
"""

import json
import os
from pathlib import Path

import pytest
import yaml

from onceproof.runs.history import History
from onceproof.runs.records import Op
from onceproof.stacks.links.member import send_order
from tests.system.command import run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


@pytest.fixture
def stack(linked_stack):
    return linked_stack


# The source, the process, the network and the resources, each with its trigger in one run.
FAMILIES = {
    "aborted_input": {"committed": 0.1},
    "kill_executor": {"failpoint": "task_done", "batch": 3},
    "cut_store": {"failpoint": "pre_committed", "batch": 5},
    "checkpoint_disk_full": {"batch": 8},
}
EVENTS = 11_000


def shared():
    """Return the scenario of the first family with the faults of all families."""
    names = [name for name in FAMILIES if name != "checkpoint_disk_full" or os.geteuid() == 0]
    asked = [f"copy_events__two_phase_table__{name}" for name in names]
    found = [yaml.safe_load(run("show", one)[1]) for one in asked]
    faults = [
        fault | {"when": FAMILIES[name]}
        for name, one in zip(names, found, strict=True)
        for fault in one["faults"]
    ]
    restart = {"strategy": "fixed-delay", "attempts": 12, "delay_s": 1}
    name = "copy_events__two_phase_table__families"
    workload = found[0]["workload"] | {"events": EVENTS}
    whole = {"name": name, "faults": faults, "restart": restart, "workload": workload}
    return found[0] | whole


def test_each_family_strikes_and_is_healed(stack, tmp_path):
    file, wanted = tmp_path / "families.yaml", shared()
    file.write_text(yaml.safe_dump(wanted))
    words = ["run", file, "--seed", 7, "--runs", tmp_path / "runs", "--json"]
    code, out, err = run(*words, "--home", stack.state.folder, timeout_s=280)
    assert out, err
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "PASS"), found["reasons"]
    landed = {fault["name"]: fault["landed"] for fault in found["faults"]}
    assert landed == {fault["name"]: True for fault in wanted["faults"]}
    assert send_order(stack.state, {"do": "look"})["in_force"] == []
    assert found["counts"]["observed"] == found["counts"]["expected"] > EVENTS
    records = History(Path(found["run"]) / "history.jsonl").read()
    undone = {one.batch for one in records if one.op is Op.FENCED}
    assert FAMILIES["kill_executor"]["batch"] in undone  # the part of the killed executor
    assert not os.path.ismount(f"{found['run']}/checkpoint")
