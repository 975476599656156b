"""A pytest suite of a user, whose test is a whole run: a sink of topics under a killed driver."""

import json
import os
import subprocess
import sys

import pytest
import yaml
from jsonschema import validate

from tests.system.command import SCHEMAS
from tests.system.test_runs import kill, scenario

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
SUITE = """
def test_the_topic_has_every_row_once(onceproof_run):
    found = onceproof_run("topic.yaml", seed=7)
    assert found.document["differences"]["lost"] == 0
"""


def test_a_test_of_a_suite_is_a_run_that_holds_a_sink_to_its_guarantee(stack, tmp_path):
    """A red run fails its test too, in tests/unit/api/test_pytest_plugin.py."""
    (tmp_path / "test_topic.py").write_text(SUITE)
    fields = scenario(
        "copy_events__two_phase_topic__kill_driver",
        faults=[kill("driver", failpoint="decided", batch=3)],
        workload={"events": 2400},
    )
    (tmp_path / "topic.yaml").write_text(yaml.safe_dump(fields))
    printed = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
            *("--onceproof-stack", stack.state.folder, "test_topic.py"),
        ],
        cwd=tmp_path,
        env=os.environ | {"ONCEPROOF_RUNS": str(tmp_path / "runs")},
        capture_output=True,
        text=True,
        timeout=250,
    ).stdout
    assert "1 passed" in printed, printed
    (verdict,) = tmp_path.glob("runs/*/*/verdict.json")
    found = json.loads(verdict.read_text())
    validate(found, json.loads((SCHEMAS / "verdict.json").read_text()))
    assert (found["verdict"], found["as_claimed"]) == ("PASS", True), found["reasons"]
    assert found["counts"]["observed"] == found["counts"]["expected"] == 2401
    (fault,) = found["faults"]
    assert (fault["landed"], fault["proof"]["moment"]["batch"]) == (True, 3)
