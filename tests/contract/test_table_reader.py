"""A reader of a table returns all added and all removed rows, without reading all rows again."""

import re
import time

import psycopg
import pytest

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.sinks.tables import sink as table_reader
from onceproof.sinks.tables.sink import TableReader
from onceproof.sinks.tables.table import drop, make

pytestmark = pytest.mark.stack
COLUMNS = {"app": "string", "hour": "int", "views": "bigint", "share": "double"}


UNREADABLE = "output cannot be read"


@pytest.fixture(params=[True, False], ids=["upsert", "append"])
def table(request, stack):
    target = Target(
        stack.members["store"].address, "looked_at.output", COLUMNS, ("app", "hour"), "views"
    )
    make(target, unique=request.param)
    yield target
    drop(target)


@pytest.fixture
def connection(table):
    with psycopg.connect(table.address, autocommit=True) as made:
        made.execute("set search_path = looked_at")
        yield made


@pytest.fixture
def reader(table):
    found = TableReader(table, keyed=has_key(table))
    yield found
    found.close()


def has_key(table):
    with psycopg.connect(table.address) as connection:
        query = "select count(*) from pg_indexes where schemaname = 'looked_at'"
        return connection.execute(query).fetchone() == (1,)


def put(connection, app, views, hour=1, batch=0):
    connection.execute(
        "insert into output values (%s, %s, %s, 0.5, %s, 1)", [app, hour, views, batch]
    )


def looked(reader):
    """Return the rows of a look, in order: copies, the app, its views."""
    found = reader.look().rows.to_pylist()
    return sorted((row["copies"], row["key"].split('"')[1], row["version"]) for row in found)


def test_new_rows_are_returned_once(reader, connection):
    put(connection, "a", 3)
    assert looked(reader) == [(1, "a", 3)]
    put(connection, "b", 4)
    assert looked(reader) == [(1, "b", 4)]
    assert looked(reader) == []


def test_a_row_has_key_value_batch_and_attempt(reader, connection):
    put(connection, 'é "x"', 3, hour=None, batch=7)
    (row,) = reader.look().rows.to_pylist()
    assert row == {"copies": 1, "key": '["é \\"x\\"", null]', "value": "[3, 0.5]"} | {
        "version": 3,
        "position": None,
        "batch": 7,
        "attempt": 1,
    }


def test_like_values_are_one_text(reader, connection):
    put(connection, "a", 3)
    before = reader.look().rows["value"].to_pylist()
    connection.execute("update output set share = '-0'")
    (minus,) = set(reader.look().rows["value"].to_pylist()) - set(before)
    connection.execute("update output set share = '0'")
    assert set(reader.look().rows["value"].to_pylist()) == {minus}


def test_an_updated_row_is_returned_as_removed_and_added(reader, connection):
    put(connection, "a", 3)
    put(connection, "b", 3)
    looked(reader)
    connection.execute("update output set views = views + 1 where app = 'a'")
    assert looked(reader) == [(-1, "a", 3), (1, "a", 4)]


def test_only_removed_rows_make_a_look_read_all_rows_again(reader, connection, monkeypatch):
    put(connection, "a", 3)
    looked(reader)
    since, fetch = [], reader._fetch
    monkeypatch.setattr(reader, "_fetch", lambda oldest: since.append(oldest) or fetch(oldest))
    put(connection, "b", 3)
    if reader.keyed:
        connection.execute("update output set views = views + 1")
    looked(reader)
    assert 0 not in since
    connection.execute("delete from output where app = 'b'")
    looked(reader)
    assert since[-1] == 0


def test_a_row_updated_twice_between_looks_is_returned_in_its_last_state(reader, connection):
    put(connection, "a", 3)
    looked(reader)
    for _ in range(2):
        connection.execute("update output set views = views + 1")
    assert looked(reader) == [(-1, "a", 3), (1, "a", 5)]


def test_a_deleted_row_is_returned_as_removed_even_if_another_was_added(reader, connection):
    put(connection, "a", 3)
    looked(reader)
    connection.execute("delete from output")
    put(connection, "b", 4)
    assert looked(reader) == [(-1, "a", 3), (1, "b", 4)]
    connection.execute("delete from output")
    assert looked(reader) == [(-1, "b", 4)]


def test_a_truncated_table_is_empty_and_can_be_filled_again(reader, connection):
    put(connection, "a", 3)
    looked(reader)
    connection.execute("truncate output")
    assert looked(reader) == [(-1, "a", 3)]
    put(connection, "a", 3)
    assert looked(reader) == [(1, "a", 3)]


def test_a_table_rewritten_by_vacuum_has_no_changed_rows(reader, connection):
    for app in "abc":
        put(connection, app, 3)
    looked(reader)
    connection.execute("delete from output where app = 'a'")
    connection.execute("vacuum full output")
    found = looked(reader)
    assert found[0] == (-1, "a", 3)
    net = {app: sum(row[0] for row in found if row[1] == app) for app in "bc"}
    assert net == {"b": 0, "c": 0}


def test_prepared_rows_are_returned_once_committed_however_late(reader, connection, table):
    put(connection, "a", 3)
    with psycopg.connect(table.address, autocommit=True) as other:
        other.execute("begin")
        other.execute("insert into looked_at.output values ('late', 1, 9, 0.5, 0, 1)")
        other.execute("prepare transaction 'late'")
    assert looked(reader) == [(1, "a", 3)]
    for app in "bcd":
        put(connection, app, 4)
        assert looked(reader) == [(1, app, 4)]
    connection.execute("commit prepared 'late'")
    assert looked(reader) == [(1, "late", 9)]
    assert looked(reader) == []


def test_rows_rolled_back_are_never_returned(reader, connection, table):
    with psycopg.connect(table.address) as other:
        other.execute("insert into looked_at.output values ('never', 1, 9, 0.5, 0, 1)")
        assert looked(reader) == []
        other.rollback()
    put(connection, "a", 3)
    assert looked(reader) == [(1, "a", 3)]


@pytest.mark.parametrize("end", ["commit", "prepare transaction 'older'"])
def test_an_update_by_a_transaction_older_than_the_last_look_is_returned(
    reader, connection, table, end
):
    """The number of rows is the same, so only the transaction's id shows the change."""
    put(connection, "a", 3)
    with psycopg.connect(table.address, autocommit=True) as other:
        other.execute("begin")
        other.execute("savepoint own_number")
        other.execute("update looked_at.output set views = 4 where app = 'a'")
        put(connection, "b", 1)
        assert looked(reader) == [(1, "a", 3), (1, "b", 1)]
        other.execute(end)
    if end != "commit":
        connection.execute("commit prepared 'older'")
    assert looked(reader) == [(-1, "a", 3), (1, "a", 4)]


def test_a_killed_store_fails_one_look_and_no_change_is_missed(
    reader, connection, stack, rng, table
):
    put(connection, "a", 3)
    looked(reader)
    stack.apply("kill", "store", rng)
    with pytest.raises(StackError, match=re.escape(UNREADABLE)):
        reader.look()
    stack.apply("start", "store", rng)
    with psycopg.connect(table.address, autocommit=True) as again:
        again.execute("insert into looked_at.output values ('b', 1, 4, 0.5, 0, 1)")
    assert looked(reader) == [(1, "b", 4)]


def test_a_paused_store_fails_a_look_in_time(reader, stack, rng, monkeypatch):
    monkeypatch.setattr(table_reader, "LOOK_AT_MOST_S", 0.5)
    assert looked(reader) == []
    stack.apply("pause", "store", rng)
    with pytest.raises(StackError, match=re.escape(UNREADABLE)):
        reader.look()
    stack.apply("resume", "store", rng)
    assert looked(reader) == []


def test_a_hundred_thousand_rows_cost_little_to_look_at_again(reader, connection):
    connection.execute(
        "insert into output select 'app ' || n, 1, n, 0.5, 0, 1 from generate_series(1, 100000) n"
    )
    seconds = []
    for came in (100_000, 0, 2):
        began = time.monotonic()
        assert reader.look().rows.num_rows == came
        seconds.append(time.monotonic() - began)
        if came == 0:
            put(connection, "one", 1, hour=2)
            put(connection, "two", 1, hour=2)
    assert max(seconds[1:]) < seconds[0]
