"""A checkpoint that is damaged in a whole run: what is taken in silence, and what ends the job."""

import json

import pytest

from tests.system.command import run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


@pytest.fixture
def outcome(stack, tmp_path):
    """Runs a scenario of the catalogue; returns its exit code and its verdict document."""

    def live(name):
        words = ["run", name, "--seed", 7, "--runs", tmp_path / "runs", "--json"]
        code, out, said = run(*words, "--home", stack.state.folder, timeout_s=200)
        assert out, said
        return code, json.loads(out)

    return live


def finding(document, checker):
    return next(one for one in document["findings"] if one["checker"] == checker)


def test_an_unaligned_checkpoint_counts_twice_and_the_judge_names_it(outcome):
    code, found = outcome("sliding_counts__append_table__unaligned")
    assert (code, found["verdict"]) == (0, "FAIL"), found["reasons"]
    assert found["differences"]["changed"] > 0
    assert "is not what was archived" in finding(found, "restarted")["reason"]
    assert all(
        "rests on the checkpoint that damage_checkpoint_unaligned damaged" in one["sentence"]
        for one in found["blame"]
    )
    sample = found["samples"][0]
    assert sample["observed"][0]["events"] > sample["expected"][0]["events"]


def test_a_job_that_cannot_start_from_its_checkpoint_fails_for_good_and_has_lost_nothing(outcome):
    code, found = outcome("copy_events__upsert_table__metadata_lost")
    assert (code, found["verdict"]) == (0, "PASS"), found["reasons"]
    assert 0 < found["counts"]["committed"] < found["counts"]["acknowledged"]
    (fault,) = found["faults"]
    assert [one["decided"] for one in fault["recovery"]["restarts"]] == ["start", "give up"]
