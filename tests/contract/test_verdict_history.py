"""The verdict history in PostgreSQL: the same rows, and writers at once."""

from dataclasses import replace

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from onceproof.errors import EvidenceError, RequestError
from onceproof.past.entry import Night
from onceproof.past.store import open_store
from onceproof.past.tables import METADATA, REVISIONS, VERSION_TABLE
from tests.unit.past.test_verdict_store import issue, write_at_once
from tests.unit.verdict_entries import NOW, good, red, unknown

pytestmark = pytest.mark.stack


@pytest.fixture
def address(stack):
    """A database of its own; a test that fails leaves it to the next one."""
    store = stack.members["store"].address
    with psycopg.connect(store, autocommit=True) as connection:
        connection.execute("drop database if exists verdicts with (force)")
        connection.execute("create database verdicts")
    return store.replace("/postgres", "/verdicts")


def test_rows_and_issues_come_back_as_they_were_recorded(address):
    store = open_store(address)
    bare = unknown(2, 2, scenario="", seed=None, recovery_s=None)
    assert [store.record(good()), store.record(bare)] == [good(), bare]
    assert open_store(address).entries() == [good(), bare]
    assert store.add_issue(issue(name="late")) == issue(name="late", number=1)
    assert store.remove_issue(1) is True
    assert store.add_issue(issue()).number == 2


def test_a_night_comes_back_as_it_was_recorded_last(address):
    store = open_store(address)
    night = Night("n1", NOW, {"calm": [1, 2]})
    for asked in ({}, night.asked):
        store.record_night(replace(night, asked=asked))
    assert store.nights() == [night]


def test_judging_again_changes_the_verdict_and_neither_the_time_nor_the_evidence(address):
    store = open_store(address)
    store.record(red())
    found = store.record(good(hours=0))
    assert (found.verdict, found.at, found.evidence) == ("PASS", red().at, "e1")
    assert store.record(red(evidence="altered")) == found


def test_processes_open_a_new_history_and_write_at_once(address):
    assert write_at_once(address) == b""
    store = open_store(address)
    assert len(store.entries()) == 100
    with store.engine.connect() as connection:
        found = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(found, METADATA) == []


def test_a_newer_history_is_refused(address):
    open_store(address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("update onceproof_version set version_num = '0999'")
    with pytest.raises(RequestError, match=rf"0999.*{REVISIONS[-1]}"):
        open_store(address)


def test_a_password_is_in_no_error(address):
    with pytest.raises(EvidenceError) as refused:
        open_store(address.replace("onceproof@", "onceproof:hush@"))
    assert "/verdicts cannot be used" in str(refused.value)
    assert "hush" not in str(refused.value)
