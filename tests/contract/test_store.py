"""PostgreSQL's two deaths, and what outlives them."""

import threading

import psycopg
import pytest

from onceproof.faults import Scene, find_mechanism
from onceproof.identity import Identity
from onceproof.polling import wait_for
from onceproof.work import FaultPart

pytestmark = pytest.mark.stack


def connect(stack):
    return psycopg.connect(stack.members["store"].address, autocommit=True)


def test_it_runs_in_utc_and_takes_prepared_transactions(stack):
    with connect(stack) as connection:
        assert connection.execute("show timezone").fetchone() == ("UTC",)
        assert connection.execute("show max_prepared_transactions").fetchone() == ("64",)


def test_a_prepared_transaction_outlives_a_power_cut(stack, rng):
    with connect(stack) as connection:
        connection.execute("create table outlives (id int)")
        connection.execute("begin")
        connection.execute("insert into outlives values (1)")
        connection.execute("prepare transaction 'later'")
    done = stack.apply("kill", "store", rng)
    assert len(done.proof["ended"]) > 1
    stack.apply("start", "store", rng)
    with connect(stack) as connection:
        connection.execute("commit prepared 'later'")
        assert connection.execute("select id from outlives").fetchall() == [(1,)]


def test_a_busy_backend_outlives_its_postmaster_and_keeps_a_new_one_away(stack, rng):
    with connect(stack) as connection:
        backend = Identity.of(connection.info.backend_pid)
        query = threading.Thread(target=busy, args=(connection,))
        query.start()
        wait_for(lambda: is_busy(stack), 10, "the query does not run")
        done = stack.apply("kill", "store:postmaster", rng)
        assert done.member == "store:postmaster"
        assert len(done.proof["ended"]) == 1
        assert backend.is_alive
        cut = stack.apply("kill", "store", rng)
        assert backend.pid in cut.proof["ended"]
        query.join(30)
    assert stack.apply("start", "store", rng).proof["trouble"] == ""


def test_a_store_whose_first_process_was_struck_serves_again_when_it_is_healed(stack, rng):
    fault = FaultPart("fault", "kill", "store:postmaster", {})
    mechanism, scene = find_mechanism("kill", "store:postmaster"), Scene(None, stack, None, rng)
    proof = mechanism.strike(fault, scene)
    assert len(proof["ended"]) == 1
    assert mechanism.heal(fault, scene, proof)["trouble"] == ""
    with connect(stack) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def busy(connection):
    with pytest.raises(psycopg.OperationalError):
        connection.execute("select count(*) from generate_series(1, 10000000000)")


def is_busy(stack):
    with connect(stack) as connection:
        text = "select count(*) from pg_stat_activity where query like '%generate_series%'"
        return connection.execute(text).fetchone()[0] == 2
