"""Opening of stacks by name, and the errors for names without a stack."""

import re
from dataclasses import replace

import pytest

from onceproof.cli import carry_out
from onceproof.errors import RequestError, StackError
from onceproof.spark.settings import driver_host
from onceproof.stacks.aiming import Role
from onceproof.stacks.compose import composed_state, service
from onceproof.stacks.compose.stack import ComposeStack
from onceproof.stacks.opening import find_stack, open_stack
from tests.unit.scripted_engine import ALIVE, DEAD, engine


def containers(*names):
    return [{"Id": "abc", "Labels": {"com.docker.compose.service": name}} for name in names]


DOWN = "docker compose -p mine down --volumes"
ALL = containers(*map(service, composed_state().hosts))


def test_a_project_is_a_composed_stack(monkeypatch, tmp_path):
    with engine(monkeypatch, tmp_path, ALIVE, listed=ALL):
        stack = open_stack("compose:mine")
    assert isinstance(stack, ComposeStack)
    assert stack.name == "compose:mine"
    assert stack.brokers.bootstrap == "broker-1:9092,broker-2:9092,broker-3:9092"
    assert stack.members["master"].address == "spark://master:7077"
    address, _, passfile = stack.members["store"].address.partition("?passfile=")
    assert address == "postgresql://onceproof@store:5432/postgres"
    assert passfile == "/var/lib/onceproof/login/pgpass"


def test_a_project_that_lacks_a_member_is_refused(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE, listed=containers("broker-1", "broker-2")),
        pytest.raises(RequestError, match=r"'mine'.*broker:3,.*master"),
    ):
        open_stack("compose:mine")


def test_an_unreachable_engine_is_reported_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(RequestError, match=r"none\.sock.*ONCEPROOF_DOCKER_SOCKET"):
        find_stack("compose:mine")


def test_an_engine_elsewhere_is_refused(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
    with pytest.raises(RequestError, match=r"tcp://10\.0\.0\.1:2375"):
        open_stack("compose:mine")


def test_a_folder_is_a_local_stack(tmp_path):
    assert find_stack(str(tmp_path)) is None
    with pytest.raises(RequestError, match=str(tmp_path)):
        open_stack(str(tmp_path))


def test_a_local_stack_that_did_not_start_completely_is_not_found(tmp_path):
    state = replace(composed_state(), folder=tmp_path, ready=False)
    state.save()
    assert find_stack(str(tmp_path)) is None
    replace(state, ready=True).save()
    assert find_stack(str(tmp_path)).name == str(tmp_path.resolve())


def test_the_composed_stack_is_taken_down_from_outside(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE, listed=ALL),
        pytest.raises(RequestError, match=re.escape(DOWN)),
    ):
        open_stack("compose:mine").down()


def test_unsupported_commands_of_a_composed_stack_have_a_remedy(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    with engine(monkeypatch, tmp_path, ALIVE, listed=ALL):
        for words, remedy in [
            (["down"], DOWN),
            (["logs", "broker:1"], "`docker compose logs broker-1`"),
            (["up"], "choose another --home"),
        ]:
            assert carry_out([*words, "--home", "compose:mine"]) == 3
            assert remedy in capsys.readouterr().err


def test_a_dead_member_is_reported_without_a_connection_to_it(monkeypatch, tmp_path):
    with engine(monkeypatch, tmp_path, DEAD, listed=ALL):
        found = open_stack("compose:mine").look("broker:1")
    assert (found.healthy, found.trouble, found.pid) == (False, "is dead", None)


def test_a_target_that_is_no_member_of_a_composed_stack_is_refused(monkeypatch, tmp_path, rng):
    monkeypatch.setenv("ONCEPROOF_HOME", str(tmp_path))
    with (
        engine(monkeypatch, tmp_path, ALIVE, listed=ALL) as orders,
        pytest.raises(RequestError, match="'store:postmaster'"),
    ):
        open_stack("compose:mine").apply("kill", "store:postmaster", rng)
    assert orders == []


def test_a_role_that_moved_before_the_strike_is_not_struck(monkeypatch, tmp_path, rng):
    monkeypatch.setenv("ONCEPROOF_HOME", str(tmp_path))
    seats = iter([seat(1), seat(2)])
    monkeypatch.setattr(Role, "seat", lambda _: next(seats))
    with (
        engine(monkeypatch, tmp_path, ALIVE, listed=ALL) as orders,
        pytest.raises(StackError, match="moved"),
    ):
        open_stack("compose:mine").apply("kill", "broker:controller", rng)
    assert orders == []


def seat(epoch):
    from onceproof.stacks.aiming import Seat

    return Seat("the controllers' quorum", 1, epoch)


def test_a_driver_gets_an_address_that_its_master_can_reach(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "airflow-scheduler")
    assert driver_host("local[2]") == "127.0.0.1"
    assert driver_host("spark://127.0.0.1:21000") == "127.0.0.1"
    assert driver_host("spark://master:7077") == "airflow-scheduler"
