"""A job as people write them, that imports nothing of ours, gets its verdict.

The others of `strangers/orders.yaml` are tried by `make prove PART=strangers`, and one that doubles
its rows is the tutorial's.
"""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from jsonschema import validate

from onceproof.run.history import History
from onceproof.run.records import Op
from tests.system.command import SCHEMAS, run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
ORDERS = Path(__file__).parent / "strangers/orders.yaml"


def test_a_merge_by_key_outlives_a_lost_commit_and_a_killed_driver(stack, tmp_path):
    name = f"{ORDERS}::merge_by_key__table__lose_commit_kill_driver"
    words = ["run", name, "--seed", 7, "--runs", tmp_path, "--json"]
    code, out, said = run(*words, "--home", stack.state.folder, timeout_s=280)
    assert out, said
    found = json.loads(out)
    validate(found, json.loads((SCHEMAS / "verdict.json").read_text()))
    assert (code, found["verdict"]) == (0, "PASS"), found["reasons"]
    assert found["counts"]["expected"] == 4000
    ran_on = found["ran_on"]
    assert (ran_on["unknown"], found["versions"]["spark"]) == ([], version("pyspark"))
    assert any(name.endswith("merge_by_key.py") for name in ran_on["files"])
    assert f"spark-sql_2.13-{version('pyspark')}.jar" in ran_on["jars"]
    records = History(Path(found["run"]) / "history.jsonl").read()
    lost = next(one for one in records if one.op is Op.FAULT_STRIKE and one.is_ok)
    assert lost.proof["damage"] == "commit_lost"
    assert lost.proof["files"][f"commits/{lost.batch}"]["after"] is None
