"""Which directories go, which stay, and that the history keeps what they showed."""

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from onceproof.cli import carry_out
from onceproof.gates.policy import Need
from onceproof.gates.prune import look, remove, rests_on
from onceproof.gates.verification import trouble_of
from onceproof.machine.identity import Identity
from onceproof.past.store import open_store
from tests.unit.verdict_entries import NOW, SCENARIO, good, red

DAY = 24


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def store(runs):
    return open_store(runs / "history.sqlite")


def live(runs, store, entry):
    """A run's directory and its row."""
    folder = runs / SCENARIO / entry.run
    (folder / "ledger").mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({"run": entry.run}))
    (folder / "ledger" / "part-0.parquet").write_text("rows")
    return store.record(replace(entry, directory=str(folder)))


def reasons(runs, store, days=7, needs=()):
    return {one.run: one.because for one in look(runs, store.entries(), days, needs, NOW)}


def test_a_run_whose_agent_is_alive_is_never_removed(runs, store):
    entry = live(runs, store, good(1, 30 * DAY))
    me = Identity.of(os.getpid())
    agent = Path(entry.directory) / "agent.json"
    agent.write_text(json.dumps({"pid": me.pid, "started": me.started}))
    assert reasons(runs, store) == {"run_1": "its agent is alive"}
    agent.write_text(json.dumps({"pid": me.pid, "started": me.started + 1}))
    assert reasons(runs, store) == {"run_1": ""}
    agent.write_text("{")
    assert reasons(runs, store)["run_1"].startswith("its agent cannot be identified")


def test_only_directories_of_runs_below_the_folder_are_looked_at(runs, store, tmp_path):
    live(runs, store, good(1, 30 * DAY))
    (runs / "other" / "folder").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "plan.json").write_text("{}")
    (runs / SCENARIO / "link").symlink_to(tmp_path / "elsewhere")
    assert reasons(runs, store) == {"run_1": ""}


def test_young_runs_stay_and_a_run_without_a_row_goes_by_its_plan(runs, store):
    live(runs, store, good(1, 6 * DAY))
    live(runs, store, good(2, 8 * DAY))
    bare = runs / SCENARIO / "bare"
    bare.mkdir()
    (bare / "plan.json").write_text("{")
    assert reasons(runs, store) == {"run_1": "young", "run_2": "", f"{SCENARIO}/bare": "young"}
    old = (NOW - timedelta(days=9)).timestamp()
    os.utime(bare / "plan.json", (old, old))
    assert reasons(runs, store)[f"{SCENARIO}/bare"] == ""


def test_a_copy_of_a_run_goes_by_its_own_age_and_nothing_rests_on_it(runs, store):
    live(runs, store, good(1, 30 * DAY))
    os.rename(runs / SCENARIO / "run_1", runs / SCENARIO / "copy")
    old = (NOW - timedelta(days=9)).timestamp()
    os.utime(runs / SCENARIO / "copy" / "plan.json", (old, old))
    assert reasons(runs, store, needs=[Need(SCENARIO)]) == {"run_1": ""}


def test_what_a_gate_may_rest_on_stays(runs, store):
    for one in (good(1, 9 * DAY), red(2, 10 * DAY), good(3, 11 * DAY)):
        live(runs, store, one)
    live(runs, store, good(4, 12 * DAY, subject="v2"))
    assert reasons(runs, store, needs=[Need(SCENARIO, passes=2)]) == {
        "run_1": "the gate rests on it",
        "run_2": "the gate rests on it",
        "run_3": "",
        "run_4": "the gate rests on it",
    }


def test_a_gate_rests_on_nothing_that_is_too_old_for_it():
    runs = [good(1, 1), good(2, 30)]
    assert rests_on([Need(SCENARIO, 2, max_age=timedelta(hours=24))], runs, NOW) == {"run_1"}
    assert rests_on([Need("another")], runs, NOW) == set()
    assert rests_on([Need("another"), Need(SCENARIO)], runs, NOW) == {"run_1"}


def test_a_run_that_was_pruned_keeps_its_row_and_closes_the_gate(runs, store):
    entry = live(runs, store, good(1, 30 * DAY))
    remove(store, look(runs, store.entries(), 7, (), NOW))
    assert not Path(entry.directory).exists()
    (row,) = store.entries()
    assert row == replace(entry, pruned=True)
    assert trouble_of(row) == "Its evidence was pruned"


def test_runs_can_be_pruned_where_no_history_is(runs, store):
    entry = live(runs, store, good(1))
    found = look(runs, (), 1, (), NOW + timedelta(days=9999))
    remove(None, found)
    assert not Path(entry.directory).exists()


def test_more_days_than_there_are_is_refused(runs, capsys):
    assert carry_out(["prune", "--keep", "99999999999999", "--runs", str(runs)]) == 3
    assert "'99999999999999': Input should be less than or equal to 100000" in (
        capsys.readouterr().err
    )
