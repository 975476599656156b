"""The doctor's checks of a scenario of a user's job on a stack."""

import sys

import psycopg
import pytest
import yaml

from tests.system.command import document

pytestmark = [pytest.mark.stack, pytest.mark.system]


@pytest.fixture
def table(stack):
    """A table of the user, with a row in it."""
    with psycopg.connect(stack.members["store"].address, autocommit=True) as connection:
        connection.execute("create schema shop")
        connection.execute("create table shop.orders (id bigint, amount bigint)")
        connection.execute("insert into shop.orders values (1, 2)")
        yield "shop.orders"
        connection.execute("drop schema shop cascade")


@pytest.fixture
def wrong(stack, tmp_path):
    """Check a job with this output, and return the failed checks by name."""

    def look(key, **sink):
        (tmp_path / "job.py").touch()
        command = [sys.executable, "{here}/job.py", "{bootstrap}", "{topic}", "{checkpoint}"]
        found = {
            "name": "orders__table__calm",
            "pipeline": {"command": command, "reference": "each_once", "key": [key]},
            "workload": {"name": "template", "value": {key: "id"}},
            "sink": {"name": "table", **sink},
        }
        file = tmp_path / "scenario.yaml"
        file.write_text(yaml.safe_dump(found))
        code, found = document("doctor", "doctor", file, "--home", stack.state.folder)
        failed = {one["name"]: one for one in found["checks"] if not one["ok"]}
        assert code == (3 if failed else 0)
        return failed

    return look


def test_a_table_with_rows_and_without_the_key_is_reported(wrong, table):
    failed = wrong("order_id", table=table)
    assert failed.keys() == {"output", "key and columns"}
    assert failed["output"]["value"] == "shop.orders has rows already"
    assert "write empty: true" in failed["output"]["remedy"]
    assert failed["key and columns"]["value"] == "shop.orders has id, amount"
    assert failed["key and columns"]["remedy"].startswith("no column order_id")


def test_a_table_that_fits_or_is_made_by_the_job_passes(wrong, table):
    assert wrong("id", table=table, empty=True) == {}
    assert wrong("id", table="shop.later") == {}
    assert wrong("id") == {}
