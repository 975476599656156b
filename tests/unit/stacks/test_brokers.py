import re
from pathlib import Path

import pytest

from onceproof.stacks.members.brokers import LISTENERS, Broker, launch, new_id
from onceproof.stacks.state import State
from onceproof.stacks.tools import KafkaTools


def stack_of(folder, brokers):
    ports = {
        f"broker:{number}/{kind}": 100 * number + place
        for number in range(1, brokers + 1)
        for place, kind in enumerate(LISTENERS)
    }
    return State.new(folder, cluster_id="cluster", brokers=brokers, workers=0, ports=ports)


def settings_of(folder, brokers, *, is_quick=True):
    (folder / "kafka.checkpoint").write_bytes(b"features")
    jars = (Path("/jars/a.jar"), Path("/jars/b.jar"))
    archive = Path("/archives/broker.jsa")
    tools = KafkaTools(Path("/bin/java"), jars, folder / "kafka.checkpoint", archive, is_quick)
    made = launch(stack_of(folder, brokers), 1, tools)
    text = (folder / "broker-1/server.properties").read_text()
    return made, dict(line.split("=", 1) for line in text.splitlines())


@pytest.mark.parametrize(("brokers", "copies", "quorum"), [(1, "1", "1"), (3, "3", "2")])
def test_the_replication_factor_fits_the_number_of_brokers(tmp_path, brokers, copies, quorum):
    _, settings = settings_of(tmp_path, brokers)
    assert settings["default.replication.factor"] == copies
    assert settings["transaction.state.log.replication.factor"] == copies
    assert settings["min.insync.replicas"] == quorum
    assert settings["transaction.max.timeout.ms"] == "2147483647"


def test_clients_brokers_and_controllers_have_listeners_of_their_own(tmp_path):
    _, settings = settings_of(tmp_path, 3)
    addresses = "CLIENT://127.0.0.1:100,BROKER://127.0.0.1:101,CONTROLLER://127.0.0.1:102"
    assert settings["listeners"] == addresses
    assert settings["inter.broker.listener.name"] == "BROKER"
    voters = "1@127.0.0.1:102,2@127.0.0.1:202,3@127.0.0.1:302"
    assert settings["controller.quorum.voters"] == voters


def test_storage_is_formatted_with_its_feature_levels(tmp_path):
    settings_of(tmp_path, 1)
    data = tmp_path / "broker-1/data"
    assert (data / "bootstrap.checkpoint").read_bytes() == b"features"
    lines = (data / "meta.properties").read_text().splitlines()
    assert lines[:3] == ["version=1", "cluster.id=cluster", "node.id=1"]
    assert re.fullmatch(r"directory\.id=[A-Za-z0-9_][A-Za-z0-9_-]{21}", lines[3])


def test_formatted_storage_is_kept(tmp_path):
    settings_of(tmp_path, 1)
    before = (tmp_path / "broker-1/data/meta.properties").read_text()
    settings_of(tmp_path, 1)
    assert (tmp_path / "broker-1/data/meta.properties").read_text() == before


@pytest.mark.parametrize("is_quick", [True, False])
def test_quick_settings_can_be_left_out(tmp_path, is_quick):
    made, _ = settings_of(tmp_path, 1, is_quick=is_quick)
    assert ("-XX:TieredStopAtLevel=1" in made.argv) is is_quick
    assert "-XX:SharedArchiveFile=/archives/broker.jsa" in made.argv
    assert "-Xmx256m" in made.argv
    assert made.argv[-4:-1] == ["-cp", "/jars/a.jar:/jars/b.jar", "kafka.Kafka"]


def test_kafka_accepts_every_id():
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", new_id()) for _ in range(500))


@pytest.mark.parametrize(
    ("running", "lacks"),
    [
        ([], "a majority of the brokers"),
        (["broker:2"], ""),
        (["broker:1"], "a majority of the brokers"),
        (["master", "store"], "a majority of the brokers"),
    ],
)
def test_a_broker_needs_a_majority_beside_it(tmp_path, running, lacks):
    assert Broker(stack_of(tmp_path, 3), 1).needs(running) == lacks
