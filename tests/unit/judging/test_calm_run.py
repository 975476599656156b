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

REASONS = {
    "no_plan": "plan.json is missing",
    "none": "The expected rows do not come from a calm run",
    "no_end": "Attempt 1 has no recorded end",
    "not_recovered": "The sink was not recovered",
    "not_read": "The sink was not read twice",
    "one_look": "the history lacks the input topics at the start or at the end",
    "changing": "it was still changing",
    "struck": "kill_driver struck without being planned",
    "other_plan": "its plan is not this run's plan without faults",
}

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
        evidence = run.write(tmp_path)
        calm.plan = evidence.plan.calm().document
        calm.write(evidence.run.calm.root)
        return run.write(tmp_path)

    return write


def test_a_run_that_rests_on_no_calm_one_needs_none(tmp_path):
    found = calm_run(HandwrittenRun().write(tmp_path))
    assert (found.verdict, found.reason) == (PASS, REASONS["none"])


def test_a_whole_calm_run_is_an_expectation(whole):
    assert calm_run(whole()).verdict is PASS


def test_without_a_calm_run_the_expectation_is_unknown(whole):
    evidence = whole()
    shutil.rmtree(evidence.run.calm.root)
    found = calm_run(evidence)
    assert found.verdict is UNKNOWN
    assert REASONS["no_plan"] in found.reason


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        ("attempt.end", REASONS["no_end"]),
        ("sink.recover", REASONS["not_recovered"]),
        ("read", REASONS["not_read"]),
        ("input.topics", REASONS["one_look"]),
        ("batch.commit", "no commit"),
    ],
)
def test_a_calm_run_that_lacks_a_record_is_no_expectation(op, reason, calm, whole):
    at = max(at for at, one in enumerate(calm.history) if one["op"] == op)
    calm.history = [
        one
        for number, one in enumerate(calm.history)
        if number != at and (op != "batch.commit" or one["op"] != op)
    ]
    found = calm_run(whole())
    assert found.verdict is UNKNOWN
    assert reason in found.reason


def test_a_calm_run_whose_output_still_changed_is_no_expectation(calm, whole):
    next(one for one in calm.history if one["op"] == "read")["proof"]["digest"] = "other"
    assert REASONS["changing"] in calm_run(whole()).reason


def test_a_calm_run_that_was_struck_is_no_expectation(calm, whole):
    calm.history.insert(5, did("fault.strike", "kill_driver", dead=[{"pid": 1, "started": 1}]))
    assert REASONS["struck"] in calm_run(whole()).reason


def test_a_calm_run_of_another_plan_is_no_expectation(whole):
    evidence = whole()
    plan = json.loads(evidence.run.calm.plan.read_text())
    evidence.run.calm.plan.write_text(json.dumps(plan | {"seed": 8}))
    assert REASONS["other_plan"] in calm_run(evidence).reason


@pytest.mark.parametrize("name", ["observed/part-0.parquet", "history.jsonl", "plan.json"])
def test_a_calm_run_is_part_of_the_evidence(name, whole):
    run = whole().run
    before = evidence_digest(run), Evidence(run).digest("calm")
    path = run.calm.root / name
    path.write_bytes(path.read_bytes() + b" ")
    assert evidence_digest(run) != before[0]
    assert Evidence(run).digest("calm") != before[1]
