"""The verdict history in SQLite; tests/contract/test_verdict_history.py has it in PostgreSQL."""

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from onceproof.errors import EvidenceError, RequestError
from onceproof.past.entry import Night
from onceproof.past.issues import issue_of
from onceproof.past.store import open_store
from onceproof.past.tables import METADATA, REVISIONS, VERSION_TABLE
from tests.unit.verdict_entries import NOW, good, red, unknown


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "history.sqlite")


def runs(found):
    return [one.run for one in found]


def test_a_run_comes_back_as_it_was_recorded(store):
    assert store.record(good()) == good()
    assert store.entries() == [good()]
    assert open_store(store.label).find("run_1") == good()


def test_a_run_without_a_plan_has_its_row_too(store):
    bare = unknown(scenario="", seed=None, subject="", claims="", recovery_s=None, tags=())
    store.record(bare)
    assert store.entries() == [bare]


def test_a_run_is_recorded_once(store):
    store.record(good())
    store.record(good())
    assert runs(store.entries()) == ["run_1"]


def test_runs_are_numbered_in_the_order_of_recording_and_not_by_clock(store):
    found = [store.record(one).number for one in (good(1, 1), good(2, 3), good(3, 2), good(1))]
    assert found == [1, 2, 3, 1]


def test_judging_again_changes_the_verdict_and_neither_the_time_nor_what_the_run_is(store):
    store.record(unknown())
    found = store.record(good(hours=0.5, subject="v2", verdict_digest="d9", directory="/copy"))
    assert (found.verdict, found.verdict_digest, found.landed) == ("PASS", "d9", 1)
    assert (found.at, found.evidence, found.subject) == (unknown().at, "e1", "v1")
    assert found.directory == "/copy"


def test_a_verdict_on_altered_evidence_changes_nothing(store):
    store.record(replace(red(), pruned=True))
    altered = good(evidence="altered", directory="/copy", verdict_digest="d9")
    assert store.record(altered) == replace(red(), pruned=True)
    assert store.entries() == [replace(red(), pruned=True)]


def test_the_newest_run_comes_first_and_filters_hold(store):
    for one in (
        good(1, 3, night="n1"),
        red(2, 1, subject="v2"),
        good(3, 2, scenario="other", tags=()),
    ):
        store.record(one)
    assert runs(store.entries()) == ["run_2", "run_3", "run_1"]
    assert runs(store.entries(last=2)) == ["run_2", "run_3"]
    assert runs(store.entries(scenario="other")) == ["run_3"]
    assert runs(store.entries(subject="v2")) == ["run_2"]
    assert runs(store.entries(night="n1")) == ["run_1"]
    assert runs(store.entries(verdict="FAIL")) == ["run_2"]
    assert runs(store.entries(tag="quick", last=1)) == ["run_2"]


def test_of_two_runs_of_one_moment_the_one_recorded_later_is_newer(store):
    store.record(good(1))
    store.record(good(2))
    assert runs(store.entries()) == ["run_2", "run_1"]


def test_a_pruned_run_keeps_its_row(store):
    store.record(good())
    store.mark_pruned(["run_1"])
    assert store.entries() == [replace(good(), pruned=True)]


def issue(**changes):
    return replace(issue_of(red(), "a defect", (NOW + timedelta(days=3)).date(), NOW), **changes)


def test_an_issue_gets_a_number_that_is_never_given_again(store):
    first = store.add_issue(issue(name="late_commit"))
    assert store.issues() == [issue(name="late_commit", number=1)] == [first]
    assert store.remove_issue(1) is True
    assert store.remove_issue(1) is False
    assert store.add_issue(issue()).number == 2


def test_a_name_belongs_to_one_issue(store):
    store.add_issue(issue(name="late"))
    store.add_issue(issue())
    store.add_issue(issue())
    with pytest.raises(RequestError, match="late"):
        store.add_issue(issue(name="late"))


def test_the_migrations_make_the_tables_that_the_code_reads(store):
    with store.engine.connect() as connection:
        found = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert found.get_current_revision() == REVISIONS[-1]
        assert compare_metadata(found, METADATA) == []


def test_an_issue_of_an_older_history_accepts_no_more_than_its_run_shows(store):
    store.record(red())
    kept, lone = store.add_issue(issue()), store.add_issue(issue(run="gone"))
    with sqlite3.connect(store.label) as connection:
        for name in ("hold_to", "at_most", "sentences"):
            connection.execute(f"alter table onceproof_issues drop column {name}")
        for name in ("ran_on", "effects"):
            connection.execute(f"alter table onceproof_runs drop column {name}")
        connection.execute("drop table onceproof_nights")
        connection.execute("update onceproof_version set version_num = '0001'")
    connection.close()
    nothing = {"hold_to": "", "at_most": {}, "sentences": ()}
    assert open_store(store.label).issues() == [kept, replace(lone, **nothing)]


def test_a_row_of_an_older_history_knows_neither_what_it_ran_on_nor_effects(store):
    store.record(good())
    with sqlite3.connect(store.label) as connection:
        for name in ("ran_on", "effects"):
            connection.execute(f"alter table onceproof_runs drop column {name}")
        connection.execute("drop table onceproof_nights")
        connection.execute("update onceproof_version set version_num = '0002'")
    connection.close()
    assert open_store(store.label).entries() == [replace(good(), ran_on="", effects=())]


def test_a_night_comes_back_as_it_was_recorded_last(store):
    night = Night("n1", NOW - timedelta(hours=3), {"calm": (1, 2)})
    store.record_night(replace(night, asked={"calm": (9,)}))
    store.record_night(night)
    store.record_night(Night("n2", NOW, {}))
    assert store.nights() == [Night("n2", NOW, {}), replace(night, asked={"calm": [1, 2]})]


def test_a_history_from_before_nights_were_recorded_knows_none(store):
    with sqlite3.connect(store.label) as connection:
        connection.execute("drop table onceproof_nights")
        connection.execute("update onceproof_version set version_num = '0003'")
    connection.close()
    assert open_store(store.label).nights() == []


def begun(**changes):
    nothing = {"evidence": "", "verdict_digest": "", "ran_on": "", "effects": ()}
    return unknown(hours=3, **nothing | changes)


def test_a_run_that_was_begun_has_a_row_that_its_verdict_completes(store):
    store.begin(begun())
    store.begin(good(2, 2))
    assert store.find("run_1") == begun()
    found = store.record(red())
    assert (found, found.number) == (red(), 1)
    assert store.entries() == [red(), good(2, 2)]


def test_beginning_a_run_that_is_known_changes_nothing(store):
    store.record(good())
    store.begin(begun())
    assert store.entries() == [good()]


def test_a_newer_history_is_refused(store):
    with sqlite3.connect(store.label) as connection:
        connection.execute("update onceproof_version set version_num = '0999'")
    connection.close()
    with pytest.raises(RequestError, match=f"0999.*{REVISIONS[-1]}"):
        open_store(store.label)


def test_a_file_that_is_no_database_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "history.sqlite").write_text("no database, but rather a long text of a person")
    with pytest.raises(EvidenceError, match="database"):
        open_store(tmp_path / "history.sqlite")


WRITER = """
import sys
from onceproof.past.store import open_store
from tests.unit.verdict_entries import good
for number in range(25):
    open_store(sys.argv[1]).record(good(int(sys.argv[2]) * 25 + number))
"""


def write_at_once(address, processes=4):
    """Let processes open a history that is not there, all at once, and write."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(address), str(number)],
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        for number in range(processes)
    ]
    return b"".join(child.communicate(timeout=120)[1] for child in children)


@pytest.mark.thorough
def test_four_processes_open_a_new_history_and_write_at_once(tmp_path):
    assert write_at_once(tmp_path / "history.sqlite") == b""
    store = open_store(tmp_path / "history.sqlite")
    assert len(store.entries()) == 100
    with sqlite3.connect(store.label) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://u:hush@h/d", "unknown database 'mysql'"),
        ("postgresql://u:hu@sh@h/d", "has two @"),
        ("postgresql://u:hush@h:port/d", "is not a URL"),
        ("://hush", "is not a URL"),
    ],
)
def test_an_invalid_address_is_refused_without_its_password(address, said):
    with pytest.raises(RequestError) as refused:
        open_store(address)
    assert said in str(refused.value)
    assert "hu" not in str(refused.value)


def test_a_database_that_does_not_answer_is_a_sentence_without_a_password():
    with pytest.raises(EvidenceError) as refused:
        open_store("postgresql://u:hush@127.0.0.1:1/d?password=hush")
    assert "postgresql://127.0.0.1:1/d cannot be used" in str(refused.value)
    assert "hush" not in str(refused.value)
