"""Jobs of users, which import nothing of Onceproof, get their verdicts.

`make prove PART=strangers` runs the other jobs of `strangers/orders.yaml`, and the tutorial has one
that doubles its rows.
"""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from jsonschema import validate

from onceproof.runs.history import History
from onceproof.runs.records import Op
from tests.system.command import SCHEMAS

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
ORDERS = Path(__file__).parent / "strangers/orders.yaml"


SUITE = """
import onceproof
from onceproof.scenario import Scenario

ORDERS = "{orders}"


def test_the_merge_loses_and_doubles_nothing(onceproof_run):
    onceproof_run(f"{{ORDERS}}::merge_by_key__table__lose_commit_kill_driver", seed=7)


def test_the_append_neither(onceproof_run):
    claimed = onceproof.load_scenario(f"{{ORDERS}}::jdbc_append__table__kill_driver")
    fields = claimed.fields() | {{"claims": "PASS", "anomalies": []}}
    onceproof_run(Scenario.of(fields, folder=claimed.folder), seed=7)
"""


def test_a_pytest_suite_holds_jobs_to_their_guarantee(stack, tmp_path):
    (tmp_path / "test_orders.py").write_text(SUITE.format(orders=ORDERS))
    printed = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
            *("--onceproof-stack", stack.state.folder, "test_orders.py"),
        ],
        cwd=tmp_path,
        env=os.environ | {"ONCEPROOF_RUNS": str(tmp_path / "runs")},
        capture_output=True,
        text=True,
        timeout=400,
    ).stdout
    assert "1 failed, 1 passed" in printed
    assert "onceproof: FAIL, not as claimed: jdbc_append__table__kill_driver" in printed
    assert re.search(r"  - \d+ rows duplicated: not allowed under exactly-once", printed), printed
    (verdict,) = tmp_path.glob("runs/merge_by_key__*/*/verdict.json")
    found = json.loads(verdict.read_text())
    validate(found, json.loads((SCHEMAS / "verdict.json").read_text()))
    assert found["verdict"] == "PASS", found["reasons"]
    assert found["counts"]["expected"] == 4000
    ran_on = found["ran_on"]
    assert (ran_on["unknown"], found["versions"]["spark"]) == ([], version("pyspark"))
    assert any(name.endswith("merge_by_key.py") for name in ran_on["files"])
    assert f"spark-sql_2.13-{version('pyspark')}.jar" in ran_on["jars"]
    records = History(Path(found["run"]) / "history.jsonl").read()
    strikes = [one for one in records if one.op is Op.FAULT_STRIKE and one.is_ok]
    (lost,) = (one for one in strikes if one.proof.get("damage") == "commit_lost")
    assert lost.proof["files"][f"commits/{lost.batch}"]["after"] is None
