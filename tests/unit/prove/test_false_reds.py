"""What docs/reference/results.md says of correct sinks under random kills."""

import pytest

from tests.prove.kills import correct_sinks, section, seeds


def run(sink, verdict="PASS", seed=0, reasons=()):
    differences = {"lost": 0, "duplicated": 0}
    faults = [{"landed": True}, {"landed": verdict == "PASS"}]
    name = f"copy_events__{sink}__kills"
    result = {"scenario": name, "seed": seed, "verdict": verdict, "reasons": list(reasons)}
    return result | {"faults": faults, "differences": differences}


@pytest.mark.parametrize(
    ("grades", "said"),
    [
        (["PASS"] * 3, "0 false reds, 0 unknown (none and at most 1 are allowed in 50): kept."),
        (
            ["PASS", "UNKNOWN"],
            "0 false reds, 1 unknown (none and at most 1 are allowed in 50): kept",
        ),
        (["UNKNOWN", "UNKNOWN"], "0 false reds, 2 unknown"),
        (["PASS", "FAIL"], "1 false reds, 0 unknown (none and at most 1 are allowed in 50): not k"),
    ],
)
def test_false_reds_are_counted(grades, said):
    found = [run("upsert_table", grade, seed) for seed, grade in enumerate(grades)]
    assert said in section(found)


def test_each_that_is_not_green_is_explained():
    said = section([run("upsert_table"), run("batch_folder", "UNKNOWN", 3, ["Nothing was read"])])
    assert "| `upsert_table` | 1 | PASS 1 | 2 of 2 | 0, 0 |" in said
    assert "- batch_folder, seed 3: Nothing was read" in said


def test_fifty_runs_are_every_correct_sink_again_and_again(monkeypatch):
    monkeypatch.delenv("SEEDS", raising=False)
    assert len(seeds()) * len(correct_sinks()) >= 50
    monkeypatch.setenv("SEEDS", "3:5")
    monkeypatch.setenv("SINK", "upsert_table")
    assert (list(seeds()), correct_sinks()) == ([3, 4], ["upsert_table"])
