"""The public API on stored runs; whole runs are in the system tests."""

import re
from pathlib import Path

import pytest

import onceproof
from onceproof import api
from onceproof.errors import RequestError
from onceproof.past.record import find_store
from onceproof.verdict import Grade
from tests.unit.handwritten_run import HandwrittenRun


def test_a_stored_run_is_judged_and_has_its_verdict(tmp_path):
    HandwrittenRun().write(tmp_path)
    found = api.judge(tmp_path)
    assert (found.verdict, found.as_claimed, found.exit_code) == (Grade.PASS, True, 0)
    assert found.document["verdict"] == "PASS"
    assert found.reasons == tuple(found.document["reasons"])
    assert found.directory == tmp_path


def test_a_folder_for_runs_may_be_given_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "plan", lambda *given, **_: given[2])
    monkeypatch.setattr(api, "live", lambda planned, *_, **__: planned)
    scenario = "copy_events__upsert_table__calm"
    assert onceproof.run(scenario, runs=str(tmp_path)) == tmp_path


@pytest.mark.parametrize("name", onceproof.__all__)
def test_each_public_name_is_there_and_documented(name):
    assert getattr(onceproof, name).__doc__
    page = (Path(__file__).parents[3] / "docs/test-a-job/api.md").read_text()
    assert f"`{name}" in page


def test_other_names_are_not_attributes():
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = onceproof.nonsense


def test_an_altered_run_is_not_as_claimed(tmp_path):
    HandwrittenRun().write(tmp_path)
    assert api.judge(tmp_path).as_claimed
    (tmp_path / "history.jsonl").write_text("")
    found = api.judge(str(tmp_path))
    assert (found.verdict, found.as_claimed, found.exit_code) == (Grade.UNKNOWN, False, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.load_scenario("no_such"), "unknown scenario 'no_such'"),
        (lambda: api.run("no_such"), "unknown scenario 'no_such'"),
        (lambda: api.replay("/no/such"), "/no/such is not a run's directory"),
        (lambda: api.judge("/no/such"), "/no/such is not a directory"),
        (lambda: api.gate("/no/such.yaml", "v1"), "/no/such.yaml"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_starts(call, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        call()


def test_a_missing_stack_is_refused_before_there_is_a_run(tmp_path):
    with pytest.raises(RequestError):
        api.run("copy_events__upsert_table__calm", stack=tmp_path / "none", runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    assert find_store(tmp_path / "runs") is None
