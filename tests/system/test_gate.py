"""From judged runs to the gate, as in the pipeline of a release."""

import json
import os
import subprocess
import sys
import time

import pytest
from jsonschema import validate

from onceproof.cli import carry_out
from onceproof.past.record import record_run
from onceproof.phases.judge import judge_run
from onceproof.runs.directory import RunDirectory
from tests.system.command import SCHEMAS, document, run
from tests.unit.handwritten_run import HandwrittenRun, good_history, plan
from tests.unit.ran_on_records import with_ran_on

pytestmark = pytest.mark.system
SCENARIO = "copy_events__two_phase_table__kill_driver"
# Handwritten plans are not of the catalogue, so their requirements are not compared.
GATE = """
from onceproof.cli import main
from onceproof.gates import verification

verification.not_demanded = lambda *_: ""
main()
"""
CHANGED = {"lost": 0, "duplicated": 0, "unexpected": 0, "changed": 2}


@pytest.fixture(autouse=True)
def no_history_of_the_machine(monkeypatch):
    monkeypatch.delenv("ONCEPROOF_HISTORY", raising=False)


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def asked(runs, tmp_path):
    """Ask the gate for a version, by a policy that requires three passes of three seeds."""
    policy = tmp_path / "gate.yaml"
    policy.write_text(
        f"require: [{{scenario: {SCENARIO}, passes: 3, seeds: 3, max_age: 1h, landed: 3}}]\n"
    )

    def ask(*words, version="v1", **env):
        words = ["gate", "--policy", policy, "--version", version, "--runs", runs, *words]
        command = [sys.executable, "-c", GATE, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | env)
        return done.returncode, done.stdout, done.stderr

    return ask


def lived(runs, seed, **fields):
    """Write a run, judge it and record it."""
    folder = runs / SCENARIO / f"20260310T120000-{seed}"
    document = plan(run=f"run_{seed}", scenario=SCENARIO, subject="v1", seed=seed, tags=["quick"])
    began = time.time() - 60 + seed

    def clocks(seq):
        return 100 + seq / 2, began + seq / 2

    history = with_ran_on(good_history(), folder)
    HandwrittenRun(document, history, clocks=clocks, **fields).write(folder)
    judge_run(folder)
    record_run(RunDirectory(folder), runs)
    return RunDirectory(folder)


def decision(result):
    code, out, err = result
    assert out, err
    found = json.loads(out)
    validate(found, json.loads((SCHEMAS / "gate.json").read_text()))
    assert (found["exit"], found["open"]) == (code, code == 0)
    return code, [one["reason"] for one in found["reasons"]]


def test_the_gate_of_a_folder_without_runs_is_closed_and_leaves_it_alone(asked, runs):
    assert decision(asked("--format", "json")) == (2, ["No run of version v1, but 3 must pass"])
    assert not runs.exists()


def test_three_runs_open_the_gate_and_one_byte_of_a_ledger_closes_it(asked, runs):
    first, *_ = [lived(runs, seed) for seed in (1, 2, 3)]
    code, reasons = decision(asked("--format", "json"))
    assert (code, reasons) == (0, ["As required: runs: 3, seeds: 3, faults that struck: 3"])
    part = first.ledger / "part-0.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"2")
    code, reasons = decision(asked("--format", "json"))
    assert (code, reasons) == (2, ["Its evidence was altered after it was first judged"])
    code, _, err = run("judge", first.root)  # judging again does not repair it
    assert (code, "was not updated: Its evidence was altered" in err) == (2, True)
    assert decision(asked("--format", "json"))[0] == 2


def test_a_verdict_that_was_altered_closes_the_gate(asked, runs):
    first, *_ = [lived(runs, seed) for seed in (1, 2, 3)]
    first.verdict.write_text(first.verdict.read_text() + "\n")
    reasons = ["Its verdict.json is not the recorded one"]
    assert decision(asked("--format", "json")) == (2, reasons)
    assert run("judge", first.root)[0] == 0
    assert decision(asked("--format", "json"))[0] == 0


def test_a_red_run_closes_the_gate_and_a_known_issue_opens_it_by_the_policy(asked, runs, tmp_path):
    red, *_ = [lived(runs, 1, differences=CHANGED), lived(runs, 2), lived(runs, 3)]
    assert asked()[0] == 1
    words = ["--reason", "a defect", "--until", "2999-12-31", "--name", "wrong", "--runs", runs]
    assert run("known", "add", red.root, *words)[:2] == (
        0,
        "Known issue 1: at most 2 changed, checker expectations, checker rows, until 2999-12-31.\n",
    )
    assert asked()[0] == 1
    policy = tmp_path / "gate.yaml"
    policy.write_text(policy.read_text() + "known_issues: [wrong]\n")
    code, out, _ = asked()
    assert code == 0
    assert "! copy_events__two_phase_table__kill_driver: Known issue 1 (a defect), accepted" in out
    code, issues = document("known", "known", "list", "--runs", runs)
    assert [one["name"] for one in issues["issues"]] == ["wrong"]
    _, history = document("history", "history", "--runs", runs)
    assert [one["result"] for one in history["runs"]] == ["as claimed", "as claimed", "known red"]
    assert run("known", "remove", 1, "--runs", runs)[0] == 0
    assert asked()[0] == 3


def test_the_history_and_its_trend_are_valid_by_their_schema(runs):
    for seed in (1, 2):
        lived(runs, seed)
    code, found = document("history", "history", "--runs", runs, "--last", 1)
    assert (code, [one["run"] for one in found["runs"]]) == (0, ["run_2"])
    _, found = document("history", "history", "--runs", runs, "--tag", "none")
    assert found["runs"] == []
    _, found = document("history", "history", "--runs", runs, "--trend")
    assert [(one["runs"], one["pass_rate"]) for one in found["scenarios"]] == [(2, 1)]
    out = run("history", "--runs", runs)[1]
    assert [line.split()[-1] for line in out.splitlines()] == ["run", "run_2", "run_1"]
    assert run("history", "--runs", runs, "--verdict", "GREEN")[0] == 3


def test_workflow_annotations_come_with_a_summary(asked, runs, tmp_path):
    summary = tmp_path / "summary.md"
    code, out, _ = asked("--format", "github", GITHUB_STEP_SUMMARY=str(summary))
    assert (code, out.startswith("::error title=onceproof gate::The gate for v1 is closed")) == (
        2,
        True,
    )
    assert "| ? | copy\\_events" in summary.read_text()


def test_a_prune_keeps_young_runs_and_zero_days_are_refused(runs):
    old, *_ = [lived(runs, seed) for seed in (1, 2, 3)]
    code, found = document("prune", "prune", "--keep", 1, "--runs", runs, "--dry-run")
    assert (code, {one["because"] for one in found["runs"]}) == (0, {"young"})
    assert run("prune", "--keep", 1, "--runs", runs)[1] == "Runs: 3, of which 0 removed.\n"
    assert run("prune", "--keep", 0, "--runs", runs)[0] == 3
    assert old.plan.exists()


def test_a_history_that_cannot_be_written_does_not_hide_the_verdict(runs):
    one = lived(runs, 1)
    code, out, err = run("judge", one.root, ONCEPROOF_HISTORY="postgresql://u:hush@127.0.0.1:1/d")
    assert (code, "PASS" in out) == (0, True)
    assert "onceproof: the run is not in the verdict history: the verdict history postg" in err
    assert "hush" not in err + out


def test_a_gate_whose_history_does_not_answer_is_closed(asked):
    code, out, err = asked(ONCEPROOF_HISTORY="postgresql://u:hush@127.0.0.1:1/d")
    assert (code, out) == (2, "")
    assert "cannot be used" in err
    assert "hush" not in err
    assert asked(ONCEPROOF_HISTORY="mysql://u:hush@h/d")[0] == 3


def test_a_known_issue_needs_a_run_of_the_history(runs, capsys):
    def refused(run, until="2999-12-31", *more):
        words = ["known", "add", run, "--reason", "x", "--until", until, "--runs", str(runs)]
        assert carry_out([*words, *more]) == 3
        return capsys.readouterr().err

    assert "verdict history" in refused("run_9")
    lived(runs, 1)
    assert "unknown run run_9" in refused("run_9")
    assert "run_1 is as claimed" in refused("run_1")
    assert "invalid --until 'soon'" in refused("run_1", "soon")
    assert "invalid --pattern" in refused("run_1", "2999-12-31", "--pattern", "(")
    assert "invalid --at-most" in refused("run_1", "2999-12-31", "--at-most", "lost")
    assert carry_out(["known", "remove", "9", "--runs", str(runs)]) == 3
