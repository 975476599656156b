"""docker-compose.yaml: it says what the stack's own code says, and opens nothing to the world."""

import re

import pytest
import yaml

from onceproof.stacks.compose import FOLDER, RUNS, composed_state, service
from onceproof.stacks.members.brokers import launch
from onceproof.stacks.members.registry import members
from onceproof.stacks.members.store import login_of
from onceproof.stacks.tools import KafkaTools
from tests.repo.tree import ROOT

FILE = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
SERVICES = FILE["services"]
STATE = composed_state()
RUNNER = "airflow-scheduler"


def test_a_version_is_written_for_no_compose():
    assert "version" not in FILE


def test_every_member_has_a_container_of_its_own():
    named = {one["environment"]["ONCEPROOF_MEMBER"]: name for name, one in SERVICES.items()}
    assert named == {name: service(name) for name in members(STATE)}


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_is_looked_after(name):
    command = SERVICES[name]["healthcheck"]["test"]
    assert command == ["CMD", "python", "-m", "onceproof.stacks.compose.entry", "check"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_answers_to_its_name_at_a_fixed_address(name):
    one = SERVICES[name]
    address = one["networks"]["default"]["ipv4_address"]
    assert one["hostname"] == name
    assert f"{name}:{address}" in one["extra_hosts"]
    assert one["extra_hosts"] == FILE["x-hosts"]


def test_no_port_is_open_beyond_this_machine():
    ports = [port for one in SERVICES.values() for port in one.get("ports", [])]
    assert len(ports) == 6
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_ports_are_those_that_members_listen_on():
    opened = {name: one["ports"] for name, one in SERVICES.items() if "ports" in one}
    inside = {name: ports[0].split(":")[-1] for name, ports in opened.items()}
    assert inside == {
        "broker-1": str(STATE.ports["broker:1/outside"]),
        "broker-2": str(STATE.ports["broker:2/outside"]),
        "broker-3": str(STATE.ports["broker:3/outside"]),
        "master": str(STATE.ports["master/web"]),
        "store": str(STATE.ports["store"]),
        "airflow-api-server": str(STATE.ports["airflow"]),
    }


def test_a_port_that_is_named_to_others_is_the_same_on_both_sides():
    for name in ("broker-1", "broker-2", "broker-3", "airflow-api-server"):
        _, outside, inside = SERVICES[name]["ports"][0].split(":")
        assert outside == inside


def test_the_engine_is_given_to_nobody_unasked_and_to_the_runner_alone():
    found = {name for name, one in SERVICES.items() if "docker.sock" in str(one)}
    assert found == {RUNNER}
    (mount,) = (one for one in SERVICES[RUNNER]["volumes"] if "docker.sock" in one)
    assert mount == "${ONCEPROOF_DOCKER_SOCKET:-/dev/null}:/var/run/docker.sock"
    assert [name for name, one in SERVICES.items() if {"privileged", "cap_add"} & one.keys()] == []


def test_those_who_run_a_job_see_its_processes_and_its_files():
    sharing = {name for name, one in SERVICES.items() if one.get("pid") == f"service:{RUNNER}"}
    assert sharing == {"worker-1", "worker-2", "airflow-triggerer"}
    for name in (RUNNER, *sharing):
        assert f"runs:{RUNS}" in SERVICES[name]["volumes"]


def test_what_must_outlive_a_container_is_on_a_volume():
    kept = {name for name, one in SERVICES.items() if str(FOLDER) in str(one.get("volumes"))}
    assert {"broker-1", "broker-2", "broker-3", "store", "airflow-api-server"} <= kept


def test_the_password_of_the_store_is_shared_with_those_alone_who_connect_to_it():
    folder = login_of(STATE).parent
    mounts = {
        name: mount.removeprefix(f"login:{folder}")
        for name, one in SERVICES.items()
        for mount in one.get("volumes", [])
        if mount.startswith("login:")
    }
    assert mounts == {"store": "", RUNNER: ":ro", "worker-1": ":ro", "worker-2": ":ro"}
    assert members(STATE)["store"].address.endswith(f"?passfile={folder}/pgpass")
    assert "login" in FILE["volumes"]


def test_the_store_is_stopped_as_elsewhere():
    assert SERVICES["store"]["stop_signal"] == members(STATE)["store"].stop_signal


def test_a_broker_tells_clients_from_outside_another_address(tmp_path):
    from dataclasses import replace

    tools = KafkaTools(tmp_path / "java", (), tmp_path / "bootstrap", None, is_quick=True)
    tools.bootstrap.write_text("")
    launch(replace(STATE, folder=tmp_path), 2, tools)
    text = (tmp_path / "broker-2/server.properties").read_text()
    listeners = re.search(r"^listeners=(.*)$", text, re.MULTILINE)[1]
    assert listeners.endswith("CONTROLLER://broker-2:9094,OUTSIDE://broker-2:19092")
    advertised = re.search(r"^advertised.listeners=(.*)$", text, re.MULTILINE)[1]
    assert advertised.endswith("CONTROLLER://broker-2:9094,OUTSIDE://127.0.0.1:19092")


def test_nothing_of_a_site_is_in_the_image():
    text = (ROOT / "docker/Dockerfile").read_text()
    assert "://" not in text
    assert "ARG BASE=debian:bookworm-slim" in text
