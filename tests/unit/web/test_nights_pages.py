"""The pages as they are served: what they say, and what never gets into them."""

import base64
import hashlib
import html
import re
from datetime import UTC, datetime, timedelta

import pytest

from onceproof.airflow.night import pick_runs
from onceproof.past.store import open_store
from onceproof.web.serving import DAG, nights_page, report_page, run_page
from tests.unit.example_runs import EXAMPLES
from tests.unit.handwritten_run import HandwrittenRun, control
from tests.unit.night_runs import judged, lossy, recorded

MARKUP = "<script>alert(1)</script>"
POLICY = "require: [{scenario: copy_events__upsert_table__kill_driver}]\n"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("ONCEPROOF_RUNS", str(tmp_path / "runs"))
    for name in ("ONCEPROOF_HISTORY", "ONCEPROOF_POLICY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "runs"


def text(page):
    """What a person reads on the page."""
    body, _, _ = page.html[page.html.index("<body") :].partition("<script>")
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", body).split()))


def test_a_red_night_shows_its_verdicts_reasons_and_links(runs):
    recorded(lossy(), runs, "run_1", night="n1")
    recorded(HandwrittenRun(), runs, "run_2", night="n1", scenario="calm")
    page = nights_page()
    assert page.status == 200
    for said in ("1 new red", "FAIL new red 1 row lost: not allowed", "PASS as claimed"):
        assert said in text(page)
    assert re.findall(r'<a href="([^"]*)"', page.html).count("report/run_1") == 2


NIGHT = "scheduled__2026-03-10T02:00:00.123456+00:00"
CALM = "copy_events__append_table__calm"


def pick(runs, seeds=1):
    """Begin a night as its DAG does, two minutes ago, and return its seeds."""
    asked = {"open": False, "tags": [], "scenarios": [CALM], "seeds": seeds, "first_seed": 1}
    asked |= {"budget_minutes": 30, "stack": "", "subject": ""}
    found = pick_runs(asked, NIGHT, datetime.now(UTC) - timedelta(minutes=2), runs)
    return [one["conf"]["seed"] for one in found]


def test_a_control_that_failed_as_claimed_is_green_as_a_control(runs):
    made = lossy()
    made.plan = control("lost")
    made.plan["scenario"] = CALM
    (seed,) = pick(runs)
    assert recorded(made, runs, "run_1", night=NIGHT, seed=seed).as_claimed
    page = nights_page()
    assert '<body class="nights PASS">' in page.html
    assert "A negative control: the scenario claims this FAIL" in text(page)


def test_a_run_by_hand_does_not_make_a_night_incomplete(runs):
    (seed,) = pick(runs)
    recorded(HandwrittenRun(), runs, "run_1", night=NIGHT, scenario=CALM, seed=seed)
    recorded(HandwrittenRun(), runs, "run_2", scenario="by_hand")
    page = nights_page()
    assert "All as claimed 1 as claimed. As of" in text(page)
    assert '<body class="nights PASS">' in page.html


def test_a_scenario_that_only_other_nights_ran_is_not_missing_in_this_one(runs):
    recorded(HandwrittenRun(), runs, "run_1", datetime(2026, 3, 9, tzinfo=UTC), night="older")
    (seed,) = pick(runs)
    recorded(HandwrittenRun(), runs, "run_2", night=NIGHT, scenario=CALM, seed=seed)
    assert "All as claimed" in text(nights_page())


def test_a_night_without_runs_is_shown(runs):
    pick(runs)
    said = text(nights_page())
    assert "Nothing was run 1 not run." in said
    assert "Unknown: 1 copy_events__ append_table__ calm" in said
    assert said.endswith(" UTC not run")


def test_a_seed_that_was_not_run_is_missing_though_another_of_its_scenario_was(runs):
    seed, _ = pick(runs, 2)
    recorded(HandwrittenRun(), runs, "run_1", night=NIGHT, scenario=CALM, seed=seed)
    page = nights_page()
    assert "1 not run 1 as claimed, 1 not run." in text(page)
    assert "1 run, 1 not run" in text(page)
    assert '<body class="nights UNKNOWN">' in page.html


def test_a_night_is_called_by_its_time_and_its_id_is_in_the_title(runs):
    pick(runs)
    page = nights_page()
    [at] = set(re.findall(f'<time datetime="([^"]*)" title="{re.escape(NIGHT)}">', page.html))
    assert datetime.now(UTC) - datetime.fromisoformat(at) < timedelta(minutes=3)
    assert f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M} UTC" in text(page)
    assert NIGHT not in text(page)


def test_the_policy_of_the_nights_allows_their_one_script_and_nothing_else(runs):
    recorded(lossy(), runs, "run_1")
    page = nights_page()
    [script] = re.findall(r"<script>(.*?)</script>", page.html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = page.headers["Content-Security-Policy"]
    assert re.findall(r"script-src [^;]*", policy) == [f"script-src 'sha256-{digest}'"]


def test_a_pruned_run_keeps_its_verdict_and_has_no_link(runs):
    recorded(HandwrittenRun(), runs, "run_1", night="n1")
    open_store(runs / "history.sqlite").mark_pruned(["run_1"])
    page = nights_page()
    assert "PASS as claimed" in text(page)
    assert "The run's folder was pruned" in text(page)
    assert "<a " not in page.html


def test_looking_makes_no_history(runs):
    page = nights_page()
    assert (page.status, "Nothing was run" in text(page)) == (200, True)
    assert not runs.exists()


def test_a_history_that_cannot_be_used_is_an_error_and_not_a_green_page(runs, monkeypatch):
    monkeypatch.setenv("ONCEPROOF_HISTORY", "mysql://me:secret@host/db")
    page = nights_page()
    assert (page.status, "mysql" in text(page)) == (503, True)
    assert "secret" not in page.html


def poisoned(made):
    made.plan |= {"scenario": "<b>x", "subject": MARKUP, "replay": MARKUP, "night": MARKUP}
    made.plan["faults"] = [
        {"name": MARKUP, "target": MARKUP, "trigger": MARKUP, "verb": "cut", "when": {}}
    ]
    return made


def test_markup_in_the_data_stays_text(runs):
    recorded(poisoned(lossy()), runs, MARKUP.replace("/", ""), orchestrator=MARKUP)
    for page in (nights_page(), run_page(DAG, MARKUP)):
        assert MARKUP not in page.html
        assert "&lt;script&gt;" in page.html
        assert "<b>x" not in page.html


@pytest.mark.parametrize("page", [lambda: run_page(DAG, MARKUP), lambda: report_page(MARKUP)])
def test_nothing_of_a_request_reaches_the_page_as_markup(page, runs):
    assert "<script" not in page().html


def test_no_page_asks_anybody_else_and_only_the_nights_have_a_script(runs):
    recorded(lossy(), runs, "run_1", orchestrator="manual__1")
    for page in (nights_page(), run_page(DAG, "manual__1"), report_page("run_1")):
        assert not re.search(r"https?:|\bsrc=|@import|url\(|\bon[a-z]+=", page.html)
        assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    for page in (run_page(DAG, "manual__1"), report_page("run_1")):
        assert "<script" not in page.html
        assert "script-src" not in page.headers["Content-Security-Policy"]


def test_a_report_is_served_in_a_sandbox(runs):
    recorded(lossy(), runs, "run_1")
    page = report_page("run_1")
    assert (
        page.html
        == (runs / "window_totals__two_phase_table__kill_driver/run_1/report.html").read_text()
    )
    assert page.headers["Content-Security-Policy"].endswith("; sandbox")


@pytest.mark.parametrize("name", ["", "..", "../run_1", "/etc/passwd", "run_1/..", "run_2"])
def test_a_report_that_the_history_does_not_know_is_not_there(name, runs):
    recorded(lossy(), runs, "run_1")
    assert report_page(name).status == 404


def test_a_report_outside_the_runs_folder_is_not_served(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("ONCEPROOF_HISTORY", str(tmp_path / "history.sqlite"))
    recorded(lossy(), tmp_path / "elsewhere", "run_1")
    assert report_page("run_1").status == 404
    assert "There is no report in the runs folder" in text(nights_page())


def test_without_a_policy_the_page_names_its_path(runs, tmp_path):
    recorded(HandwrittenRun(), runs, "run_1")
    assert f"there is no policy at {tmp_path / 'gate.yaml'}" in text(nights_page())


def gate(runs, policy, *changes):
    for number, plan in enumerate(changes, 1):
        recorded(HandwrittenRun(), runs, f"run_{number}", **plan)
    (runs.parent / "gate.yaml").write_text(policy)
    found = nights_page()
    return re.sub(" Nights .*", "", text(found).partition(" Gate ")[2])


@pytest.fixture
def _as_demanded(monkeypatch):
    """Plans that are written by hand are no scenario's of the catalogue."""
    monkeypatch.setattr("onceproof.gates.verification.not_demanded", lambda *_: "")


@pytest.mark.usefixtures("_as_demanded")
def test_the_gate_is_shown_for_each_version(runs):
    mine = {"scenario": "copy_events__upsert_table__kill_driver"}
    text = gate(runs, POLICY, mine, mine | {"subject": "git:other+dirty"})
    assert "open git:9f2c41d" in text
    closed = "closed for lack of evidence git:other+dirty"
    assert f"{closed} Version git:other+dirty has uncommitted changes" in text


@pytest.mark.usefixtures("_as_demanded")
def test_evidence_that_was_altered_closes_the_gate_on_the_page_too(runs):
    mine = {"scenario": "copy_events__upsert_table__kill_driver"}
    assert gate(runs, POLICY, mine).startswith("open")
    history = runs / mine["scenario"] / "run_1/history.jsonl"
    history.write_bytes(history.read_bytes() + b"\n")
    assert "closed for lack of evidence" in text(nights_page())


def test_a_policy_with_a_mistake_decides_nothing(runs):
    text = gate(runs, "require: [{scenario: unknown}]\n", {})
    assert text.startswith("No gate is decided: ")


def test_the_tab_shows_the_verdict_with_its_faults_and_their_proof(runs):
    recorded(EXAMPLES["red"][0](), runs, "run_1", orchestrator="manual__1")
    page = run_page(DAG, "manual__1")
    for said in ("FAIL", "New red: the scenario claims PASS", "25 rows duplicated", "4711",
                 "Full report", "onceproof run"):  # fmt: skip
        assert said in text(page)
    assert 'href="report/run_1"' in page.html


def test_the_tab_of_a_green_run_is_green(runs):
    recorded(HandwrittenRun(), runs, "run_1", orchestrator="manual__1")
    assert '<body class="run PASS">' in run_page(DAG, "manual__1").html


@pytest.mark.parametrize("asked", [(DAG, "manual__2"), (DAG, ""), ("another", "manual__1")])
def test_a_run_of_the_dag_without_a_plan_has_no_verdict(asked, runs):
    recorded(HandwrittenRun(), runs, "run_1", orchestrator="manual__1")
    page = run_page(*asked)
    assert "No verdict" in text(page)
    assert '<body class="run UNKNOWN">' in page.html


def spoiled(run, how):
    if how == "not judged":
        run.verdict.unlink()
    elif how == "altered":
        run.verdict.write_text(run.verdict.read_text().replace("reason", "Reason", 1))
    elif how == "cut":
        run.verdict.write_text("{")


@pytest.mark.parametrize("how", ["not judged", "altered", "cut", "not recorded"])
def test_a_verdict_that_the_history_does_not_confirm_is_unknown(how, runs):
    run = judged(HandwrittenRun(), runs, "run_1", orchestrator="manual__1")
    if how != "not recorded":
        recorded(HandwrittenRun(), runs, "run_1", orchestrator="manual__1")
    spoiled(run, how)
    assert '<body class="run UNKNOWN">' in run_page(DAG, "manual__1").html
