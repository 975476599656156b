"""The two crashes of PostgreSQL, and the data that survives them."""

import threading
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from onceproof.faults import Scene
from onceproof.faults.registry import find_mechanism
from onceproof.machine.home import onceproof_home
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart
from onceproof.stacks.compose import composed_state
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.programs import store_tools
from onceproof.stacks.members.store import launch, login_of, password_in

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


def test_a_store_whose_postmaster_was_struck_serves_again_after_the_heal(stack, rng):
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


@pytest.mark.parametrize("password", ["", "wrong"])
def test_no_client_is_admitted_without_the_password(stack, password):
    address, _, _ = stack.members["store"].address.partition("?")
    if password:
        address = address.replace("@", f":{password}@")
    with pytest.raises(psycopg.OperationalError, match=r"password|authentication"):
        psycopg.connect(address)


def test_the_password_is_in_one_file_that_only_its_owner_may_read(stack):
    login = login_of(stack.state)
    password = password_in(str(login))
    assert len(password) == 48
    assert (login.stat().st_mode & 0o777, login.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    found = [one for one in stack.state.folder.rglob("*") if one.is_file() and one != login]
    assert [one for one in found if password.encode() in _bytes_of(one)] == []


def _bytes_of(path):
    """Return a file's content, empty if a broker has removed it meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_only_postgresql_can_enter_a_folder_of_its_stack(stack):
    folders = [one for one in stack.state.folder.iterdir() if one.is_dir()]
    entered = {one.name for one in folders if one.stat().st_mode & 0o077}
    assert entered == {"store"}


def test_it_keeps_its_password_as_scram_and_over_a_start(stack, rng):
    with connect(stack) as connection:
        found = connection.execute("select rolpassword from pg_authid where rolname = 'onceproof'")
        assert found.fetchone()[0].startswith("SCRAM-SHA-256$")
    stack.apply("kill", "store", rng)
    stack.apply("start", "store", rng)
    with connect(stack) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_two_stacks_have_two_passwords(stack, stacks_folder):
    with LocalStack.up(stacks_folder / "second", without=["kafka", "spark"]) as second:
        assert password_in(str(login_of(second.state))) != password_in(str(login_of(stack.state)))
        theirs, _, _ = second.members["store"].address.partition("?")
        with pytest.raises(psycopg.OperationalError, match="authentication"):
            psycopg.connect(f"{theirs}?passfile={login_of(stack.state)}")
    assert not login_of(second.state).exists()


def test_a_composed_store_asks_its_whole_network_and_keeps_its_password(stacks_folder):
    state = replace(composed_state(), folder=stacks_folder / "composed")
    state.folder.mkdir(parents=True)
    state.folder.chmod(0o755)
    tools = store_tools(onceproof_home())
    argv = launch(state, tools).argv
    assert "listen_addresses=*" in argv
    (access,) = (Path(one.partition("=")[2]) for one in argv if one.startswith("hba_file="))
    assert access.read_text() == "host all all samenet scram-sha-256\n"
    first = password_in(str(login_of(state)))
    launch(state, tools)
    assert password_in(str(login_of(state))) == first
    login_of(state).unlink()  # its volume was removed, and that of the data was not
    launch(state, tools)
    assert password_in(str(login_of(state))) != first
