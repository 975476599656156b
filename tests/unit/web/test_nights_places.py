"""Which files the pages may show, and which run belongs to a run of the DAG."""

import json

import pytest

from onceproof.web.one_run import find_dag_run, report_of


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def made(runs, name, **plan):
    folder = runs / "scenario" / name
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "report.html").write_text("report")
    return folder


def test_a_report_below_the_runs_folder_is_found(runs):
    folder = made(runs, "1")
    assert report_of(folder, runs) == folder / "report.html"


def test_a_runs_folder_that_is_a_link_itself_is_no_obstacle(runs, tmp_path):
    folder = made(tmp_path / "elsewhere", "1")
    runs.symlink_to(tmp_path / "elsewhere")
    assert report_of(runs / "scenario/1", runs) == folder / "report.html"


def test_a_directory_outside_the_runs_folder_has_no_report(runs, tmp_path):
    runs.mkdir()
    folder = made(tmp_path / "elsewhere", "1")
    assert report_of(folder, runs) is None
    assert report_of(runs / "../elsewhere/scenario/1", runs) is None
    (runs / "linked").symlink_to(folder)
    assert report_of(runs / "linked", runs) is None


def test_a_report_that_is_a_link_out_of_its_run_is_not_shown(runs, tmp_path):
    folder = made(runs, "1")
    (tmp_path / "secret").write_text("secret")
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(tmp_path / "secret")
    assert report_of(folder, runs) is None


def test_a_folder_without_a_report_has_none(runs):
    folder = made(runs, "1")
    (folder / "report.html").unlink()
    assert report_of(folder, runs) is None
    assert report_of(runs / "nothing", runs) is None


def test_the_newest_plan_that_names_the_dag_run_is_its_run(runs):
    made(runs, "20260309T020000-1", orchestrator="manual__1")
    newest = made(runs, "20260310T020000-1", orchestrator="manual__1")
    made(runs, "20260311T020000-1", orchestrator="manual__2")
    made(runs, "20260312T020000-1")
    assert find_dag_run("manual__1", runs).root == newest
    assert find_dag_run("manual__3", runs) is None


def test_a_plan_that_cannot_be_read_does_not_hide_another(runs):
    wanted = made(runs, "20260309T020000-1", orchestrator="manual__1")
    (made(runs, "20260310T020000-1") / "plan.json").write_text("{")
    assert find_dag_run("manual__1", runs).root == wanted


def test_a_plan_behind_a_link_out_of_the_runs_folder_is_ignored(runs, tmp_path):
    runs.mkdir()
    made(tmp_path / "elsewhere", "1", orchestrator="manual__1")
    (runs / "scenario").symlink_to(tmp_path / "elsewhere/scenario")
    assert find_dag_run("manual__1", runs) is None


def test_no_runs_folder_has_no_run(runs):
    assert find_dag_run("manual__1", runs) is None
