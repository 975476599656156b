"""Modes of a run's files: only the owner may read them, unless the run is open."""

import os
from datetime import UTC, datetime

import pytest

from onceproof.airflow.night import pick_runs
from onceproof.airflow.orchestrated import plan_run
from onceproof.past.store import open_store
from onceproof.phases.judge import judge_run
from onceproof.phases.new_run import make_directory, seal
from onceproof.phases.plan import Origin, make_plan
from onceproof.scenario.catalogue import find_scenario

CALM = "copy_events__append_table__calm"


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    return {oct(one.stat().st_mode & 0o777) for one in (folder, *folder.rglob("*"))}


def test_only_the_owner_may_read_a_run_and_the_files_of_the_judge(tmp_path):
    run = make_plan(find_scenario(CALM), 7, tmp_path / "runs")
    (run.root / "checkpoint/offsets").mkdir(parents=True)
    (run.root / "checkpoint/offsets/0").write_text("by an executor")
    judge_run(run.root)
    assert modes(run.root) == {"0o700", "0o600"}
    assert run.report.exists()


def test_a_run_that_is_open_stays_so(tmp_path):
    run = make_plan(find_scenario(CALM), 7, tmp_path / "runs", is_open=True)
    judge_run(run.root)
    assert modes(run.root) == {"0o755", "0o644"}


def test_links_that_lead_out_of_a_run_are_left_alone(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("x")
    run = make_directory(tmp_path / "scenario", 1, None)
    (run.root / "home").symlink_to(outside)
    (run.root / "file").symlink_to(outside / "theirs")
    seal(run)
    assert modes(outside) == {"0o755", "0o644"}


def test_only_the_owner_may_read_the_verdict_history(tmp_path):
    assert open_store(str(tmp_path / "history.sqlite")).label
    assert {oct(one.stat().st_mode & 0o777) for one in tmp_path.glob("history*")} == {"0o600"}


@pytest.mark.parametrize("is_open", [True, False])
def test_an_orchestrated_run_is_open_if_its_night_is(tmp_path, is_open):
    asked = {"tags": [], "scenarios": [CALM], "seeds": 1, "first_seed": 3, "stack": ""}
    asked |= {"subject": "", "budget_minutes": 5, "open": is_open}
    (one,) = pick_runs(asked, "night", datetime(2026, 8, 1, tzinfo=UTC), tmp_path)
    assert one["conf"]["open"] is is_open
    run = plan_run(CALM, 3, tmp_path, "", Origin(), is_open=one["conf"]["open"])
    assert bool(run.root.stat().st_mode & 0o077) is is_open
