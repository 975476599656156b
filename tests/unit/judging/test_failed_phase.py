"""A run in which a phase failed: the cause comes first and once, without differences."""

import io
import json
import re

import pytest
from rich.console import Console

from onceproof.cli.output import print_columns
from onceproof.errors import StackError
from onceproof.judging.checkers import CHECKERS
from onceproof.judging.follow_ups import RESTS_ON
from onceproof.judging.report.text import print_verdict
from onceproof.phases.judge import judge_run
from onceproof.phases.phase import phase
from onceproof.phases.plan import make_plan
from onceproof.runs.directory import RunDirectory
from onceproof.scenario.catalogue import find_scenario
from tests.unit.handwritten_run import HandwrittenRun, did

WHY = "stack mine is not healthy: broker:1 is dead; start dead members"
LONG = "a-folder-with-a-name-that-is-longer-than-most-terminals-are-wide-and-has-no-blank-in-it"


def verdict_of(run):
    judge_run(run.root)
    return json.loads(run.verdict.read_text())


def shown(document, width=80):
    out = io.StringIO()
    print_verdict(document, Console(file=out, width=width))
    return out.getvalue().splitlines()


@pytest.fixture
def unprepared(tmp_path):
    """A run whose prepare failed."""
    scenario = find_scenario("copy_events__upsert_table__kill_driver")
    run = make_plan(scenario, 7, tmp_path / LONG)
    with pytest.raises(StackError), phase(run, "prepare"):
        raise StackError(WHY)
    with phase(run, "release"):
        pass
    return run


def test_every_checker_but_that_of_the_phases_rests_on_a_phase():
    assert RESTS_ON.keys() == {one.__name__ for one in CHECKERS} - {"phases"}


def test_the_cause_comes_first_and_its_consequences_in_one_line(unprepared):
    document = verdict_of(unprepared)
    unknown = [one for one in document["findings"] if one["verdict"] == "UNKNOWN"]
    assert unknown[0]["reason"] == f"prepare failed: {WHY}"
    assert {one.get("caused_by") for one in unknown[1:]} == {"phases"}
    lines = [line for line in shown(document) if line]
    assert re.fullmatch(rf"\?  phases +prepare failed: {re.escape(WHY)}", lines[1])
    names = ", ".join(one["checker"] for one in unknown[1:])
    assert lines[2] == f"?  {len(unknown) - 1} more are UNKNOWN because of it: {names}"
    assert not any(line.startswith("?") for line in lines[3:])


def test_the_page_has_the_cause_first_and_the_rest_below_it(unprepared):
    document = verdict_of(unprepared)
    page = unprepared.report.read_text()
    header = page[page.index("<header>") : page.index("</header>")]
    assert header.count("<li>") == 2
    assert f"prepare failed: {WHY}" in header
    assert "more are UNKNOWN because of it" in header
    for finding in document["findings"]:
        assert f'<tr id="{finding["checker"]}"' in page


def test_rows_that_were_not_compared_have_no_differences(unprepared):
    document = verdict_of(unprepared)
    assert document["counted"] == []
    assert "differences: not compared" in shown(document)
    assert "differences: none" not in shown(document)
    assert "The rows were not compared." in unprepared.report.read_text()


def test_a_check_without_a_restart_to_look_at_is_not_applicable(unprepared):
    findings = {one["checker"]: one for one in verdict_of(unprepared)["findings"]}
    assert findings["restarted"]["numbers"]["starts"] == 0
    assert findings["restarted"]["verdict"] == "PASS"
    assert findings["restarted"]["status"] == "not applicable"


def test_paths_and_commands_are_lines_of_their_own_that_nothing_breaks(unprepared):
    document = verdict_of(unprepared)
    document["replay"] = f"onceproof run {'a-word ' * 30}--seed 7"
    lines = shown(document, 40)
    assert f"report  {unprepared.root}/report.html" in lines
    assert f"replay  {document['replay']}" in lines


def test_a_path_or_a_command_within_a_reason_is_not_broken(unprepared):
    document = verdict_of(unprepared)
    reason = f"see /{LONG}/agent.log and run `onceproof start broker:1 --home /{LONG}` then"
    document["findings"][0]["reason"] = reason
    assert any(line.endswith(reason) for line in shown(document, 40))


def test_a_table_breaks_no_cell(capsys):
    print_columns(
        ["check", "found"], [["java", f"/{LONG}/{LONG}/bin/java"], ["jars", "two\nlines"]]
    )
    assert capsys.readouterr().out.splitlines() == [
        "check  found",
        f"java   /{LONG}/{LONG}/bin/java",
        "jars   two",
        "       lines",
    ]


def test_a_finding_of_its_own_is_not_put_down_to_a_phase_that_failed_after_it(tmp_path):
    made = HandwrittenRun()
    made.history = [one for one in made.history if one["op"] != "fault.strike"]
    made.history.append(did("phase.end", "validate", "failed", reason="no suite"))
    made.write(tmp_path)
    RunDirectory(tmp_path).validation.unlink()
    findings = {one["checker"]: one for one in verdict_of(RunDirectory(tmp_path))["findings"]}
    assert findings["phases"]["reason"] == "validate failed: no suite"
    assert findings["expectations"]["caused_by"] == "phases"
    assert findings["faults_landed"]["verdict"] == "UNKNOWN"
    assert "caused_by" not in findings["faults_landed"]


def test_the_evidence_of_a_job_that_crashed_is_judged_beside_its_failed_phase(tmp_path):
    made = HandwrittenRun()
    made.history.append(did("phase.start", "process"))
    made.history.append(did("phase.end", "process", "failed", reason="attempt 2 failed"))
    made.history = [one for one in made.history if one["op"] != "fault.strike"]
    made.write(tmp_path)
    findings = {one["checker"]: one for one in verdict_of(RunDirectory(tmp_path))["findings"]}
    assert findings["faults_landed"]["verdict"] == "UNKNOWN"
    assert not any("caused_by" in one for one in findings.values())


def test_a_run_without_a_failure_has_no_finding_that_follows_from_another(tmp_path):
    HandwrittenRun().write(tmp_path)
    document = verdict_of(RunDirectory(tmp_path))
    assert not any("caused_by" in one for one in document["findings"])
    assert "differences: none" in shown(document)
