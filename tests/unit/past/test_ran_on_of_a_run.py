"""The environment of a run's job is in its verdict, over all attempts, and in its row."""

import json

import pytest

from onceproof.past.record import begin_run, entry_of, find_store, record_run, update_verdict
from onceproof.phases.judge import judge_run
from onceproof.runs.directory import RunDirectory
from tests.unit.handwritten_run import HandwrittenRun, good_history, plan
from tests.unit.ran_on_records import ran_on, with_ran_on

JARS = {"iceberg.jar": ["1.4.2"]}


@pytest.fixture(autouse=True)
def no_history_of_the_machine(monkeypatch):
    monkeypatch.delenv("ONCEPROOF_HISTORY", raising=False)


def judged(folder, history):
    HandwrittenRun(plan(run=folder.name, subject="v1", night="", tags=[]), history).write(folder)
    judge_run(folder)
    return json.loads((folder / "verdict.json").read_text())


def one(folder, **changes):
    return judged(folder, with_ran_on(good_history(), folder, **changes))


def test_the_versions_of_a_verdict_are_those_of_the_job_and_ours_are_in_the_plan(tmp_path):
    found = one(tmp_path / "a", spark=["4.1.0"], packages={"pyspark": "4.1.0"}, jars=JARS)
    assert found["versions"] == {
        "spark": "4.1.0",
        "java": "17.0.9",
        "python": "cpython 3.11.7",
        "pyspark": "4.1.0",
        "onceproof": "0.1.0",
    }
    assert found["plan"]["versions"]["spark"] == "4.2.0"
    assert found["ran_on"]["jars"] == {"iceberg.jar": "1.4.2"}
    assert found["ran_on"]["unknown"] == []


@pytest.mark.parametrize(
    "changes",
    [{"spark": ["4.1.0"]}, {"jars": {"iceberg.jar": ["1.5.0"]}}, {"python": []}, {"java": ["21"]}],
)
def test_two_runs_on_other_things_never_have_one_digest(tmp_path, changes):
    first, other = one(tmp_path / "a", jars=JARS), one(tmp_path / "b", **{"jars": JARS} | changes)
    assert first["ran_on"]["digest"].startswith("sha256:")
    assert first["ran_on"]["digest"] == one(tmp_path / "c", jars=JARS)["ran_on"]["digest"]
    assert first["ran_on"]["digest"] != other["ran_on"]["digest"]
    entry = entry_of(RunDirectory(tmp_path / "b"))
    assert (entry.subject, entry.ran_on) == ("v1", other["ran_on"]["digest"])


def test_values_of_any_attempt_are_known_and_different_ones_are_joined(tmp_path):
    folder = tmp_path / "a"
    first = ran_on(folder, 1, spark=[], jars={}, unknown=["spark", "jars"])
    second = ran_on(folder, 2, jars=JARS, python=["cpython 3.12.1", "cpython 3.11.7"])
    found = judged(folder, [*good_history(), first, second])["ran_on"]
    assert (found["spark"], found["unknown"]) == ("4.2.0", [])
    assert found["python"] == "cpython 3.11.7 and cpython 3.12.1"


def test_an_attempt_without_a_record_is_named_as_not_known(tmp_path):
    folder = tmp_path / "a"
    found = judged(folder, [*good_history(), ran_on(folder, 1)])
    assert found["ran_on"]["unknown"] == ["attempt 2"]


def test_where_nothing_was_recorded_or_a_file_is_another_nothing_is_known(tmp_path):
    nothing = judged(tmp_path / "a", good_history())
    assert (nothing["ran_on"]["digest"], nothing["ran_on"]["unknown"]) == ("", ["everything"])
    assert nothing["versions"] == {"onceproof": "0.1.0"}
    one(tmp_path / "b")
    (tmp_path / "b/ran-on/1.json").write_text("{}")
    judge_run(tmp_path / "b")
    assert entry_of(RunDirectory(tmp_path / "b")).ran_on == ""


def test_a_run_that_was_begun_is_unknown_until_its_verdict_is_recorded(tmp_path):
    folder = tmp_path / "runs/scenario/a"
    one(folder)
    verdict = (folder / "verdict.json").read_text()
    (folder / "verdict.json").unlink()
    begin_run(RunDirectory(folder), tmp_path / "runs")
    (folder / "verdict.json").write_text(verdict)
    found = record_run(RunDirectory(folder), tmp_path / "runs")
    assert (found.verdict, found.number) == ("PASS", 1)
    assert found == entry_of(RunDirectory(folder))


def test_a_run_that_is_judged_while_it_goes_on_stays_begun(tmp_path):
    folder, runs = tmp_path / "runs/scenario/a", tmp_path / "runs"
    one(folder)
    run = RunDirectory(folder)
    begin_run(run, runs)
    assert update_verdict(run, runs) is None
    (row,) = find_store(runs).entries()
    assert not row.is_judged
    run.released.touch()
    assert update_verdict(run, runs) == entry_of(run)
