"""A driver that joins two topics and runs two queries, one of which appends: it alone is blamed.

`make prove PART=strangers` runs the same job without the mistake, and one that writes two outputs.
"""

import json
from pathlib import Path

import pytest
from jsonschema import validate

from tests.system.command import SCHEMAS, run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
SHOP = Path(__file__).parent / "strangers/shop.yaml"


def test_the_query_that_doubles_rows_is_blamed_and_the_other_one_passes(stack, tmp_path):
    name = f"{SHOP}::shop_that_appends__tables__lose_commit"
    where = ("--home", stack.state.folder, "--runs", tmp_path)
    code, out, err = run("run", name, "--seed", 7, *where, "--json", timeout_s=280)
    assert out, err
    found = json.loads(out)
    validate(found, json.loads((SCHEMAS / "verdict.json").read_text()))
    assert (code, found["verdict"], found["as_claimed"]) == (0, "FAIL", True), found["reasons"]
    paid, seen = found["outputs"]["paid"], found["outputs"]["seen"]
    assert (paid["query"], paid["verdict"], sum(paid["differences"].values())) == (
        "paid",
        "PASS",
        0,
    )
    assert paid["counts"]["acknowledged"] == 5700
    assert paid["counts"]["expected"] == 2700 - 27  # payments without an order join nothing
    assert (seen["query"], seen["verdict"]) == ("seen", "FAIL")
    assert seen["counts"]["acknowledged"] == seen["counts"]["expected"] == 3000
    assert seen["differences"]["duplicated"] == found["differences"]["duplicated"] > 0
    assert {one["output"] for one in found["blame"]} == {"seen"}
    assert {one["fault"] for one in found["blame"]} == {"lose_commit"}
    assert found["queries"]["paid"]["inputs"] == ["orders", "payments"]
    (fault,) = found["faults"]
    assert (fault["landed"], fault["proof"]["damage"]) == (True, "commit_lost")
    assert fault["effect"]["degree"] == "restarted"
