"""The reports: escaped, complete in one file, with the same data in the same order."""

import io
import json
import re
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from onceproof.judging.report.html import NOTHING
from onceproof.judging.report.junit import to_junit
from onceproof.judging.report.plot import plot, ticks
from onceproof.judging.report.text import print_verdict
from onceproof.phases.judge import judge_run
from tests.unit.handwritten_run import HandwrittenRun, control, did, plan

MARKUP = "<script>alert(1)</script><b onclick='x'>&amp;[red]\x1b[31m\x00\ud800"


@pytest.fixture
def run():
    return HandwrittenRun()


def judged(run, folder):
    run.write(folder)
    judge_run(folder)
    return json.loads((folder / "verdict.json").read_text())


def poisoned(run):
    """Markup in every place where a text of the data reaches the page."""
    run.plan |= {"scenario": MARKUP, "replay": MARKUP, "subject": MARKUP}
    run.plan["versions"] = {MARKUP: MARKUP}
    run.plan["faults"] = [
        {"name": MARKUP, "target": MARKUP, "trigger": MARKUP, "verb": "cut", "when": {}, "how": {}}
    ]
    strike = did("fault.strike", MARKUP, **{MARKUP: MARKUP, "failpoint": MARKUP})
    run.history[7] = strike
    run.history[0:0] = [did("phase.start", MARKUP), did("phase.end", MARKUP)]
    run.samples = [
        {"class": MARKUP, "key": {MARKUP: MARKUP}, "expected": MARKUP, "topic": MARKUP, "batch": 1}
    ]
    run.differences["lost"], run.observed = 1, 5
    return run


def test_markup_in_the_data_stays_text_on_the_page(run, tmp_path):
    judged(poisoned(run), tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page
    assert "<b onclick" not in page
    assert page.count("&lt;script&gt;") > 10


def test_markup_in_the_data_stays_text_in_junit_and_the_terminal(run, tmp_path):
    document = judged(poisoned(run), tmp_path)
    suite = Xml.parse(tmp_path / "junit.xml").getroot()  # noqa: S314
    assert suite.get("name").startswith("<script>")
    out = io.StringIO()
    print_verdict(document, Console(file=out, width=200))
    assert "[red]" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    out.getvalue().encode()


def test_the_page_is_one_file_that_asks_no_network(run, tmp_path):
    judged(run, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"https?:|//[a-z]|\bsrc=|href=|@import|url\(", page)
    assert "default-src 'none'" in page


def test_the_verdict_and_its_reasons_come_first(run, tmp_path):
    run.differences["lost"], run.observed = 1, 5
    judged(run, tmp_path)
    page = (tmp_path / "report.html").read_text()
    body = page[page.index("<body") :]
    places = [body.index(part) for part in ("FAIL", "1 row lost", "<figure", "Differences")]
    assert places == sorted(places)


def test_the_page_shows_what_a_person_needs(run, tmp_path):
    document = judged(run, tmp_path)
    page = (tmp_path / "report.html").read_text()
    for text in (document["replay"], "kill_driver", "4.2.0", "exactly-once", "pid 4711"):
        assert text in page
    for finding in document["findings"]:
        assert finding["checker"] in page


def test_an_empty_run_has_a_page_too(tmp_path):
    judge_run(tmp_path)
    assert "Nothing to draw" in (tmp_path / "report.html").read_text()


def test_classes_that_were_not_counted_show_no_zero(run, tmp_path):
    run.history = [record for record in run.history if record["op"] != "poll"]
    document = judged(run, tmp_path)
    assert document["counted"] == ["changed", "duplicated", "lost", "stuck", "unexpected"]
    page = (tmp_path / "report.html").read_text()
    shown = dict(re.findall(r'<li class="zero"><b>(.)</b>([a-z ]+)', page)[::-1])
    assert shown == {"0": "lost", "\N{EN DASH}": "uncommitted read"}  # the first of each


def test_a_traceback_is_kept_on_the_page(run, tmp_path):
    run.clocks = lambda seq: (float(seq), 1e300)
    judged(run, tmp_path)
    assert "Traceback (most recent call last)" in (tmp_path / "report.html").read_text()


def cases(folder):
    suite = Xml.parse(folder / "junit.xml").getroot()  # noqa: S314
    return suite, {case.get("name"): [part.tag for part in case] for case in suite}


def test_junit_has_a_case_for_the_claim_and_each_finding(run, tmp_path):
    document = judged(run, tmp_path)
    suite, found = cases(tmp_path)
    assert suite.get("tests") == str(1 + len(document["findings"]))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert found["as_claimed"] == []


def test_junit_distinguishes_failure_and_unknown(run, tmp_path):
    run.differences["lost"], run.observed = 1, 5
    del run.history[0]
    judged(run, tmp_path)
    _, found = cases(tmp_path)
    assert found["as_claimed"] == found["rows"] == ["failure"]
    assert found["input_kept"] == ["error"]


def test_junit_is_green_for_a_control_that_is_as_claimed(run, tmp_path):
    run.plan = control("lost")
    run.lose_a_row()
    assert judged(run, tmp_path)["as_claimed"]
    suite, found = cases(tmp_path)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert found["rows"] == ["system-out"]


@given(st.text())
def test_any_text_is_valid_in_junit(text):
    finding = {"checker": text, "verdict": "FAIL", "status": "failed", "reason": text}
    document = {
        "scenario": text, "run": "r", "verdict": "FAIL", "claims": "PASS", "as_claimed": False,
        "reasons": [text], "findings": [finding],
    }  # fmt: skip
    Xml.fromstring(to_junit(document).partition("?>")[2])  # noqa: S314


def test_the_terminal_shows_the_worst_findings_first(run, tmp_path):
    del run.history[0]
    out = io.StringIO()
    print_verdict(judged(run, tmp_path), Console(file=out, width=200))
    lines = [line for line in out.getvalue().splitlines() if line.strip()]
    assert lines[0].startswith("? UNKNOWN  window_totals")
    assert lines[1].startswith("?  input_kept")


@given(st.floats(0.001, 1e9), st.integers(1, 9))
def test_ticks_are_round_few_and_within_the_axis(most, about):
    found = ticks(most, about)
    assert found[0] == 0
    assert found[-1] <= most * (1 + 1e-6)
    assert len(found) <= about + 1
    assert len(set(found)) == len(found)


def test_a_timeline_without_any_series_is_not_drawn():
    nothing = {"seconds": 0.0, "offered": [], "committed": [], "seen": [], "faults": []}
    assert plot(nothing, 800, 320) is None


def test_a_fault_that_nothing_recovered_from_is_shaded_to_the_end():
    fault = {"name": "kill", "struck": 5.0, "healed": None, "recovered": None, "caught_up": None}
    line = {"offered": [(0, 1), (10, 9)], "committed": [], "seen": []}
    drawing = plot(line | {"seconds": 10.0, "faults": [fault]}, 800, 320)
    [bar] = drawing.bars
    assert bar.left + bar.shaded == drawing.right


def test_rows_of_a_sample_stand_below_each_other(tmp_path):
    rows = [{"id": 7, "_attempt": 1}, {"id": 7, "_attempt": 2}]
    sample = {"class": "duplicated", "key": {"id": 7}, "expected": rows[:1], "observed": rows}
    evidence = HandwrittenRun(samples=[sample]).write(tmp_path)
    judge_run(tmp_path)
    page = evidence.run.report.read_text()
    assert "id 7, _attempt 1\nid 7, _attempt 2" in page


def test_the_effect_of_each_fault_is_on_the_page_in_junit_and_on_the_terminal(run, tmp_path):
    document = judged(run, tmp_path)
    assert document["faults"][0]["effect"]["degree"] == "restarted"
    page = (tmp_path / "report.html").read_text()
    assert "restarted (attempts_ended 1, engine no event log)" in page
    assert "kill_driver restarted" in (tmp_path / "junit.xml").read_text()
    out = io.StringIO()
    print_verdict(document, Console(file=out, width=200))
    assert "The effect of each strike: kill_driver restarted" in out.getvalue()


def torn(run):
    """Let a reader see one row of batch 0 later than the rest, which the sink does not forbid."""
    polls = [one for one in run.history if one["op"] == "poll"]
    run.reads[0]["poll"] = run.reads[-1]["poll"]
    for poll in polls:
        poll["proof"]["rows"] = sum(row["poll"] == poll["proof"]["poll"] for row in run.reads)
    return run


def in_order_of_reports(document, out, folder):
    """The statuses of all findings as the terminal, the page and JUnit show them."""
    marks = {
        "✗": "failed",
        "?": "unknown",
        "✓": "passed",
        "•": "allowed",
        NOTHING: "not applicable",
    }
    lines = out.getvalue().splitlines()[1:]
    page = (folder / "report.html").read_text()
    suite, _ = cases(folder)
    statuses = {one["checker"]: one["status"] for one in document["findings"]}
    return (
        [marks[line[0]] for line in lines if line[:1] in marks],
        re.findall(r"</svg>\s*([a-z ]+)</span>", page),
        [statuses[case.get("name")] for case in suite if case.get("name") in statuses],
    )


@pytest.mark.parametrize("verdict", ["FAIL", "PASS"])
def test_findings_come_in_the_same_order_in_every_report(verdict, run, tmp_path):
    if verdict == "FAIL":
        run.differences["lost"], run.observed = 1, 5
    document = judged(torn(run), tmp_path)
    assert document["verdict"] == verdict
    out = io.StringIO()
    print_verdict(document, Console(file=out, width=200))
    order = ["failed", "unknown", "passed", "allowed", "not applicable"]
    expected = sorted((one["status"] for one in document["findings"]), key=order.index)
    assert set(expected) >= {"passed", "allowed", "not applicable"}
    assert (verdict == "FAIL") == ("failed" in expected)
    assert in_order_of_reports(document, out, tmp_path) == (expected, expected, expected)


def test_the_reasons_of_a_pass_come_as_checked_then_allowed_then_not_applicable(run, tmp_path):
    document = judged(torn(run), tmp_path)
    statuses = {one["reason"]: one["status"] for one in document["findings"]}
    found = [statuses[reason] for reason in document["reasons"]]
    order = ["passed", "allowed", "not applicable"]
    assert list(dict.fromkeys(found)) == order
    assert found == sorted(found, key=order.index)


def test_a_checker_without_anything_to_check_is_not_applicable(run, tmp_path):
    run.plan = plan(faults=[])
    run.history = [one for one in run.history if one["op"] != "fault.strike"]
    statuses = {one["checker"]: one["status"] for one in judged(run, tmp_path)["findings"]}
    names = ("faults_landed", "effects", "calm_run")
    assert [statuses[name] for name in names] == ["not applicable"] * len(names)
