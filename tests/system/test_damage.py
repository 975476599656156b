"""A whole run with damage to its checkpoint that Spark ignores; the catalogue has other damage."""

import json

import pytest

from tests.system.command import run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


def test_an_unaligned_checkpoint_counts_twice_and_the_judge_names_it(stack, tmp_path):
    words = ["run", "sliding_counts__append_table__unaligned", "--seed", 7, "--json"]
    words += ["--runs", tmp_path / "runs", "--home", stack.state.folder]
    code, out, err = run(*words, timeout_s=200)
    assert out, err
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "FAIL"), found["reasons"]
    assert found["differences"]["changed"] > 0
    (restarted,) = (one for one in found["findings"] if one["checker"] == "restarted")
    assert "differs from the archive" in restarted["reason"]
    assert all(
        "ran on the checkpoint that damage_checkpoint_unaligned damaged" in one["sentence"]
        for one in found["blame"]
    )
    sample = found["samples"][0]
    assert sample["observed"][0]["events"] > sample["expected"][0]["events"]
