"""The calm run is evidence too: what is missing or wrong in it makes the whole run UNKNOWN."""

import json
import shutil

import pytest

from onceproof.judging.checkers.calm_run import calm_run
from onceproof.past.entry import evidence_digest
from onceproof.runs.evidence import Evidence
from onceproof.verdict import Grade
from tests.plans import input_of, output_of
from tests.unit.handwritten_run import HandwrittenRun, did, good_history

PASS, UNKNOWN = Grade.PASS, Grade.UNKNOWN


@pytest.fixture
def calm():
    """A calm run: one attempt, and no fault."""
    history = [one for one in good_history() if one["op"] != "fault.strike"]
    ended = next(one for one in history if one["op"] == "attempt.end")
    history = [one for one in history if one is not ended and one.get("attempt") != 2]
    at = next(at for at, one in enumerate(history) if one["op"] == "sink.recover")
    history.insert(at, did("attempt.end", "supervisor", attempt=1))
    return HandwrittenRun(history=history)


@pytest.fixture
def whole(calm, tmp_path):
    """Write a run and its calm run, and return what the checker finds."""

    def write():
        run = HandwrittenRun()
        output_of(run.plan)["reference"] = "calm"
        input_of(run.plan)["options"] = {"events": 6}
        told = run.write(tmp_path)
        calm.plan = told.plan.calm().document
        calm.write(told.run.calm.root)
        return run.write(tmp_path)

    return write


def test_a_run_that_rests_on_no_calm_one_needs_none(tmp_path):
    found = calm_run(HandwrittenRun().write(tmp_path))
    assert (found.verdict, found.reason) == (PASS, "This run is not compared with a calm run")


def test_a_whole_calm_run_is_an_expectation(whole):
    assert calm_run(whole()).verdict is PASS


def test_without_a_calm_run_nothing_is_known(whole):
    evidence = whole()
    shutil.rmtree(evidence.run.calm.root)
    found = calm_run(evidence)
    assert found.verdict is UNKNOWN
    assert "plan.json is missing" in found.reason


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ("attempt.end", "Nobody saw the end of attempt 1"),
        ("sink.recover", "The sink was not recovered"),
        ("read", "The sink was not read twice"),
        ("input.topics", "input topics were not looked at both"),
        ("batch.commit", "no commit"),
    ],
)
def test_what_a_calm_run_has_no_record_of_makes_it_no_expectation(op, said, calm, whole):
    at = max(at for at, one in enumerate(calm.history) if one["op"] == op)
    calm.history = [
        one
        for number, one in enumerate(calm.history)
        if number != at and (op != "batch.commit" or one["op"] != op)
    ]
    found = calm_run(whole())
    assert found.verdict is UNKNOWN
    assert said in found.reason


def test_a_calm_run_that_did_not_come_to_rest_is_no_expectation(calm, whole):
    next(one for one in calm.history if one["op"] == "read")["proof"]["digest"] = "other"
    assert "it had not come to rest" in calm_run(whole()).reason


def test_a_calm_run_that_was_struck_is_no_expectation(calm, whole):
    calm.history.insert(5, did("fault.strike", "kill_driver", dead=[{"pid": 1, "started": 1}]))
    assert "nobody had planned it" in calm_run(whole()).reason


def test_a_calm_run_of_another_plan_is_no_expectation(whole):
    evidence = whole()
    plan = json.loads(evidence.run.calm.plan.read_text())
    evidence.run.calm.plan.write_text(json.dumps(plan | {"seed": 8}))
    assert "its plan is not that of this run without faults" in calm_run(evidence).reason


@pytest.mark.parametrize("name", ["observed/part-0.parquet", "history.jsonl", "plan.json"])
def test_a_calm_run_is_part_of_the_evidence(name, whole):
    run = whole().run
    before = evidence_digest(run), Evidence(run).digest("calm")
    path = run.calm.root / name
    path.write_bytes(path.read_bytes() + b" ")
    assert evidence_digest(run) != before[0]
    assert Evidence(run).digest("calm") != before[1]
