"""Reading the table and the topic of a user's job on the real stores."""

import datetime as dt
import json
import re
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

import psycopg
import pyarrow.parquet as parquet
import pytest
from kafka import KafkaProducer

from onceproof.errors import RequestError, StackError
from onceproof.machine.polling import wait_for
from onceproof.sinks import Target, find_sink

pytestmark = pytest.mark.stack
COLUMNS = {"order_id": "string", "amount": "double"}
MADE = "create table {} (order_id bigint, amount numeric(9, 2), note text)"
MADE_OF_ALL = (
    "create table {target} (order_id bigint, amount numeric(9, 2), note varchar(9), at timestamptz,"
    " number uuid, tags jsonb, is_new boolean)"
)
INSERTED = (
    "insert into {} values (7, 1.50, 'x', '2024-02-29T12:00:00Z',"
    " 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '[\"a\"]', true),"
    " (8, null, null, null, null, null, null)"
)


MESSAGES = {
    "no table": "table theirs.output does not exist",
    "no column": "theirs.output has no column order_id, amount;",
    "rows": "public.orders has 1 rows before the job starts",
    "records": "topic theirs.output has records before the job starts",
}


@pytest.fixture
def target(stack):
    address = stack.members["store"].address
    found = Target(address, "theirs.output", COLUMNS, ("order_id",))
    yield found
    find_sink("table")(found).drop()


def do(target, statement, name=None):
    with psycopg.connect(target.address, autocommit=True) as connection:
        connection.execute(statement.format(name or target.name))


def table(target, **options):
    return find_sink("table", options)(replace(target, options=options))


def look(reader):
    found = reader.look().rows.to_pylist()
    return sorted((row["copies"], row["key"], row["value"], row["batch"]) for row in found)


def first_look(reader):
    """Look at a new topic that may still be unknown to some brokers."""

    def looked():
        try:
            return (look(reader),)
        except StackError:
            return None

    return wait_for(looked, 20, "the topic is not seen")[0]


def rows(sink, folder):
    sink.read(folder)
    return [(row["order_id"], row["amount"]) for row in parquet.read_table(folder).to_pylist()]


def test_a_table_can_be_polled_before_the_job_creates_it(target, tmp_path):
    sink = table(target)
    sink.prepare()
    with closing(sink.reader()) as reader:
        assert look(reader) == []
        with pytest.raises(StackError, match=re.escape(MESSAGES["no table"])):
            sink.read(tmp_path / "none")
        do(target, MADE)
        do(target, "insert into {} values (7, 1.50, 'x'), (7, 1.50, 'y')")
        assert look(reader) == [(1, '["7"]', "[1.5]", None)] * 2
        do(target, "delete from {} where note = 'y'")
        assert look(reader) == [(-1, '["7"]', "[1.5]", None)]
    assert rows(sink, tmp_path / "seen") == [("7", 1.5)]


def test_a_column_that_would_be_rounded_is_rejected(target, tmp_path):
    sink = find_sink("table")(replace(target, columns={"order_id": "string", "amount": "bigint"}))
    sink.prepare()
    do(target, MADE)
    do(target, "insert into {} values (7, 10.99, 'x')")
    with pytest.raises(StackError, match=r"amount.*numeric.*bigint"):
        sink.read(tmp_path / "seen")


def test_a_table_is_read_with_all_columns_in_their_own_types(target, tmp_path):
    sink = table(target, create=MADE_OF_ALL)
    sink.prepare()
    sink.read_all(tmp_path / "empty")
    columns = ["order_id", "amount", "note", "at", "number", "tags", "is_new"]
    assert parquet.read_table(tmp_path / "empty").column_names == columns
    do(target, INSERTED)
    sink.read_all(tmp_path / "all")
    found = parquet.read_table(tmp_path / "all").to_pylist()
    noon = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    number = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    assert [list(row.values()) for row in found] == [
        [7, Decimal("1.50"), "x", noon, number, '["a"]', True],
        [8, None, None, None, None, None, None],
    ]
    sink.drop()
    with pytest.raises(StackError, match=re.escape(MESSAGES["no table"])):
        sink.read_all(tmp_path / "none")


def test_a_table_created_by_the_option_create_is_removed_with_the_run(target, tmp_path):
    sink = table(target, create="create table {target} (order_id int primary key, amount int)")
    sink.prepare()
    do(target, "insert into {} values (1, 2)")
    assert rows(sink, tmp_path / "seen") == [("1", 2.0)]
    sink.drop()
    with pytest.raises(StackError, match=re.escape(MESSAGES["no table"])):
        sink.read(tmp_path / "gone")


def test_a_missing_column_is_an_error(target, tmp_path):
    do(target, "create schema theirs", "")
    do(target, "create table {} (id bigint)")
    with pytest.raises(StackError, match=re.escape(MESSAGES["no column"])):
        table(target).read(tmp_path / "seen")
    do(target, "drop schema theirs cascade", "")


def test_a_table_of_the_user_s_is_emptied_only_with_the_option(target):
    do(target, MADE, "public.orders")
    try:
        do(target, "insert into {} values (1, 2, 'old')", "public.orders")
        theirs = replace(target, name="public.orders")
        with pytest.raises(RequestError, match=re.escape(MESSAGES["rows"])):
            table(theirs, table="public.orders").prepare()
        table(theirs, table="public.orders").drop()
        may = table(theirs, table="public.orders", empty=True)
        with closing(may.reader()) as reader:
            assert len(look(reader)) == 1
            may.prepare()
            assert look(reader) == [(-1, '["1"]', "[2]", None)]
    finally:
        do(target, "drop table {}", "public.orders")


def test_a_topic_of_the_run_s_own_is_created_read_and_removed(stack, tmp_path):
    bootstrap = stack.brokers.bootstrap
    target = Target(bootstrap, "theirs.output", COLUMNS, ("order_id",))
    sink = find_sink("topic")(target)
    sink.prepare()
    with closing(sink.reader()) as reader:
        assert first_look(reader) == []
        producer = KafkaProducer(bootstrap_servers=stack.brokers.bootstrap)
        producer.send(target.name, json.dumps({"order_id": 3, "amount": 4}).encode())
        producer.close()
        assert look(reader) == [(1, '["3"]', "[4.0]", None)]
    assert rows(sink, tmp_path / "seen") == [("3", 4.0)]
    sink.read_all(tmp_path / "all")
    assert parquet.read_table(tmp_path / "all").to_pylist() == [{"order_id": 3, "amount": 4}]
    theirs = find_sink("topic")(replace(target, options={"topic": target.name}))
    with pytest.raises(RequestError, match=re.escape(MESSAGES["records"])):
        theirs.prepare()
    assert sink.open() == (0, 0)
    sink.drop()
