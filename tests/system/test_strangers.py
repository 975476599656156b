"""Jobs as people write them, that import nothing of ours: each gets its verdict, and its batch.

The others of `strangers/orders.yaml` are tried by `make prove PART=strangers`.
"""

import json
from pathlib import Path

import pytest
from jsonschema import validate

from onceproof.history import History
from onceproof.records import Op
from tests.system.command import SCHEMAS, run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
ORDERS = Path(__file__).parent / "strangers/orders.yaml"


@pytest.fixture
def outcome(stack, tmp_path):
    """Runs a stranger's scenario; returns its exit code and its verdict document."""

    def live(name, seed=7):
        words = ["run", f"{ORDERS}::{name}", "--seed", seed, "--runs", tmp_path, "--json"]
        code, out, said = run(*words, "--home", stack.state.folder, timeout_s=280)
        assert out, said
        found = json.loads(out)
        validate(found, json.loads((SCHEMAS / "verdict.json").read_text()))
        return code, found

    return live


def strikes(found):
    records = History(Path(found["run"]) / "history.jsonl").read()
    return [one for one in records if one.op is Op.FAULT_STRIKE and one.is_ok]


def test_jdbc_append_doubles_the_batch_in_which_its_driver_dies(outcome):
    code, found = outcome("jdbc_append__table__kill_driver")
    assert (code, found["verdict"], found["as_claimed"]) == (0, "FAIL", True), found["reasons"]
    (strike,) = strikes(found)
    assert {(one["class"], one["batch"], one["fault"]) for one in found["blame"]} == {
        ("duplicated", strike.batch, "kill_driver")
    }
    said = f"Batch {strike.batch} was applied twice: by attempt 1 before kill_driver, by attempt 2"
    assert found["blame"][0]["sentence"].startswith(said)
    assert all(one["inferred"] for one in found["blame"])


def test_a_merge_by_key_outlives_a_lost_commit_and_a_killed_driver(outcome):
    code, found = outcome("merge_by_key__table__lose_commit_kill_driver")
    assert (code, found["verdict"]) == (0, "PASS"), found["reasons"]
    assert found["counts"]["expected"] == 4000
    lost = strikes(found)[0]
    assert lost.proof["damage"] == "commit_lost"
    assert lost.proof["files"][f"commits/{lost.batch}"]["after"] is None
