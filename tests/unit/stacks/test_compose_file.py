"""docker-compose.yaml: it agrees with the stack's own code, and opens no port to the network."""

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


def test_the_file_has_no_compose_version():
    assert "version" not in FILE


def test_every_member_has_a_container_of_its_own():
    services = {one["environment"]["ONCEPROOF_MEMBER"]: name for name, one in SERVICES.items()}
    assert services == {name: service(name) for name in members(STATE)}


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_a_health_check(name):
    command = SERVICES[name]["healthcheck"]["test"]
    assert command == ["CMD", "python", "-m", "onceproof.stacks.compose.entry", "check"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_a_host_name_and_a_fixed_address(name):
    one = SERVICES[name]
    address = one["networks"]["default"]["ipv4_address"]
    assert one["hostname"] == name
    assert f"{name}:{address}" in one["extra_hosts"]
    assert one["extra_hosts"] == FILE["x-hosts"]


def test_no_port_is_open_beyond_this_machine():
    ports = [port for one in SERVICES.values() for port in one.get("ports", [])]
    assert len(ports) == 6
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_published_ports_are_the_ports_of_members():
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


def test_an_advertised_port_is_the_same_inside_and_outside():
    for name in ("broker-1", "broker-2", "broker-3", "airflow-api-server"):
        _, outside, inside = SERVICES[name]["ports"][0].split(":")
        assert outside == inside


def test_only_the_runner_can_get_the_engine_and_not_by_default():
    found = {name for name, one in SERVICES.items() if "docker.sock" in str(one)}
    assert found == {RUNNER}
    (mount,) = (one for one in SERVICES[RUNNER]["volumes"] if "docker.sock" in one)
    assert mount == "${ONCEPROOF_DOCKER_SOCKET:-/dev/null}:/var/run/docker.sock"
    assert [name for name, one in SERVICES.items() if {"privileged", "cap_add"} & one.keys()] == []


def test_containers_of_a_job_share_processes_and_files():
    sharing = {name for name, one in SERVICES.items() if one.get("pid") == f"service:{RUNNER}"}
    assert sharing == {"worker-1", "worker-2", "airflow-triggerer"}
    for name in (RUNNER, *sharing):
        assert f"runs:{RUNS}" in SERVICES[name]["volumes"]


def test_data_that_must_outlive_a_container_is_on_a_volume():
    kept = {name for name, one in SERVICES.items() if str(FOLDER) in str(one.get("volumes"))}
    assert {"broker-1", "broker-2", "broker-3", "store", "airflow-api-server"} <= kept


def test_the_password_of_the_store_is_shared_only_with_its_clients():
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


def test_the_store_is_stopped_with_the_signal_of_a_local_stack():
    assert SERVICES["store"]["stop_signal"] == members(STATE)["store"].stop_signal


def test_a_broker_advertises_another_address_to_clients_from_outside(tmp_path):
    from dataclasses import replace

    tools = KafkaTools(tmp_path / "java", (), tmp_path / "bootstrap", None, is_quick=True)
    tools.bootstrap.write_text("")
    launch(replace(STATE, folder=tmp_path), 2, tools)
    text = (tmp_path / "broker-2/server.properties").read_text()
    listeners = re.search(r"^listeners=(.*)$", text, re.MULTILINE)[1]
    assert listeners.endswith("CONTROLLER://broker-2:9094,OUTSIDE://broker-2:19092")
    advertised = re.search(r"^advertised.listeners=(.*)$", text, re.MULTILINE)[1]
    assert advertised.endswith("CONTROLLER://broker-2:9094,OUTSIDE://127.0.0.1:19092")


def test_the_image_contains_no_address_of_a_site():
    text = (ROOT / "docker/Dockerfile").read_text()
    assert "://" not in text
    assert "ARG BASE=debian:bookworm-slim" in text
