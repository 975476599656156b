"""A job that ends by itself and is started again: killed in one turn, it goes on in the next."""

import json
from pathlib import Path

import pytest

from onceproof.runs.history import History
from onceproof.runs.records import Op
from tests.system.command import run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
ORDERS = Path(__file__).parent / "strangers/orders.yaml"


@pytest.mark.parametrize(
    ("name", "verdict", "twice"),
    [
        ("merge_in_turns__table__kill_driver", "PASS", False),
        # The same turns; test_tutorial.py has a job whose doubled rows are found.
        pytest.param("append_in_turns__table__kill_driver", "FAIL", True, marks=pytest.mark.long),
    ],
)
def test_a_job_in_turns_is_killed_in_one_and_goes_on_in_the_next(
    name, verdict, twice, stack, tmp_path
):
    words = ("run", f"{ORDERS}::{name}", "--seed", 7, "--home", stack.state.folder)
    code, out, err = run(*words, "--runs", tmp_path, "--json", timeout_s=400)
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, verdict), (found["reasons"], err)
    assert bool(found["differences"]["duplicated"]) is twice
    assert found["counts"]["expected"] == 1000
    held = {one["checker"]: one["reason"] for one in found["findings"]}["expectations"]
    own = "All 8 expectations hold, in the suites differences, orders"
    assert verdict == "FAIL" or held == own
    records = History(Path(found["run"]) / "history.jsonl").read()
    ends = [one for one in records if one.op is Op.ATTEMPT_END]
    codes = [one.proof["exit_code"] for one in ends]
    assert codes.count(-9) == 1
    assert codes.count(0) == len(codes) - 1 >= 2
    assert [one.is_ok for one in ends] == [code == 0 for code in codes]
    assert len([one for one in records if one.op is Op.RESTART]) == 1
