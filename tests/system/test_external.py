"""An external stack, reached by addresses only, whose brokers require a password over TLS.

It is a second local stack, of which a run has only the external file.
"""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import yaml

from onceproof.kafka.security import Brokers, Security
from onceproof.kafka.topics import look, make_topic, read_back
from onceproof.sinks import Target
from onceproof.sinks.topics.cluster import Cluster
from onceproof.stacks.local.ports import free_ports
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members import brokers
from tests.system.command import document, run
from tests.system.test_runs import kill, scenario

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
PASSWORD, OF_THE_STORE = "pass-of-kafka/1", "pass of the store"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def certificate(folder):
    """Make a self-signed certificate of this host, and a file with key and certificate."""
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*make, "-keyout", "key", "-out", "ca"], cwd=folder, check=True, stderr=-3)
    (folder / "both").write_text((folder / "key").read_text() + (folder / "ca").read_text())


@pytest.fixture(scope="module")
def theirs(stacks_folder, tmp_path_factory):
    """A user's stack: its external file, and the variables with its secrets."""
    folder = tmp_path_factory.mktemp("theirs")
    certificate(folder)
    ports = list(free_ports("123").values())
    secure = {
        "listener.security.protocol.map": (
            "CLIENT:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,OUTSIDE:SASL_SSL"
        ),
        "listener.name.outside.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.outside.plain.sasl.jaas.config": f'{_LOGIN} required user_ann="{PASSWORD}";',
        "listener.name.outside.ssl.keystore.type": "PEM",
        "listener.name.outside.ssl.keystore.location": str(folder / "both"),
    }
    listeners = brokers._listeners

    def with_outside(state, name, *words):
        port = ports[int(name[-1]) - 1]
        return f"{listeners(state, name, *words)},OUTSIDE://127.0.0.1:{port}"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(brokers, "_SETTINGS", brokers._SETTINGS | secure)
        patched.setattr(brokers, "_listeners", with_outside)
        stack = LocalStack.up(stacks_folder / "theirs")
        patched.setenv("THEIR_PASSWORD", PASSWORD)
        patched.setenv("THEIR_STORE_PASSWORD", OF_THE_STORE)
        patched.setenv("THEIR_USER", "ann")
        patched.setenv("THEIR_CA", str(folder / "ca"))
        with stack:
            with psycopg.connect(stack.members["store"].address) as connection:
                connection.execute(f"alter role onceproof password '{OF_THE_STORE}'")
            file = folder / "stack.yaml"
            file.write_text(yaml.safe_dump(external_file(stack, ports)))
            yield file


def external_file(stack, ports):
    addresses = [f"127.0.0.1:{port}" for port in ports]
    store, _, _ = stack.members["store"].address.partition("?")  # without its own password

    def command(verb, name):
        return [sys.executable, "-m", "onceproof", verb, name, "--home", stack.name]

    return {
        "kafka": {
            "bootstrap": addresses,
            "protocol": "SASL_SSL",
            "mechanism": "PLAIN",
            "user": "${THEIR_USER}",
            "password": "${THEIR_PASSWORD}",
            "ca": "${THEIR_CA}",
        },
        "spark": stack.members["master"].address,
        "store": store.replace("@", ":${THEIR_STORE_PASSWORD}@"),
        "members": {
            f"broker:{number}": {
                "address": address,
                **{verb: command(verb, f"broker:{number}") for verb in ("kill", "start")},
            }
            for number, address in enumerate(addresses, 1)
        },
    }


def written(folder, name, **fields):
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(scenario(name, **fields)))
    return file


def files_with(folder: Path, secret: str) -> list[str]:
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]


def test_the_status_has_its_parts_and_members(theirs):
    code, found = document("members", "status", "--home", f"external:{theirs}")
    assert code == 0
    names = {member["name"] for member in found["members"]}
    assert names == {"kafka", "master", "store", "broker:1", "broker:2", "broker:3"}


def test_a_run_by_addresses_only_strikes_and_passes_and_writes_no_secret(theirs, tmp_path):
    faults = [kill("broker:leader=0", acknowledged=0.2)]
    file = written(
        tmp_path,
        "copy_events__upsert_table__kill_leader",
        faults=faults,
        workload={"events": 2000, "rate": 400},
    )
    words = ["run", file, "--seed", 3, "--runs", tmp_path / "runs", "--json"]
    code, out, err = run(*words, "--home", f"external:{theirs}", timeout_s=280)
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "PASS"), (err, found["reasons"])
    (broker,) = found["faults"]
    assert broker["proof"]["before"] == "it served"
    assert broker["proof"]["seat"]["after"]["broker"] != broker["proof"]["seat"]["before"]["broker"]
    assert broker["healed_at"]
    for secret in (PASSWORD, OF_THE_STORE, "pass%20of%20the%20store", "pass-of-kafka%2F1"):
        assert files_with(tmp_path, secret) == []
        assert secret not in out + err
    assert files_with(tmp_path, "${THEIR_PASSWORD}") != []  # the search does find names


def test_a_fault_without_a_command_is_refused_before_the_run(theirs, tmp_path):
    file = written(
        tmp_path, "copy_events__upsert_table__kill_store", faults=[kill("store", batch=1)]
    )
    words = ["run", file, "--runs", tmp_path / "runs", "--home", f"external:{theirs}"]
    code, out, err = run(*words)
    assert (code, out) == (3, "")
    assert "cannot kill store; it can kill, start broker:1; kill, start broker:2" in err
    assert not (tmp_path / "runs").exists()


def test_a_missing_secret_is_reported_by_name(theirs):
    code, _, err = run("status", "--home", f"external:{theirs}", THEIR_PASSWORD="")
    assert code == 3
    assert "environment variable THEIR_PASSWORD" in err


def test_a_wrong_password_is_reported_at_once(theirs):
    wrong = {"THEIR_PASSWORD": "wrong"}
    code, out, _ = run("status", "--home", f"external:{theirs}", "--json", **wrong)
    (kafka,) = (one for one in json.loads(out)["members"] if one["name"] == "kafka")
    assert code == 1
    assert "accepts connections but no SASL_SSL clients" in kafka["trouble"]


def test_topics_are_created_and_read_with_the_password(theirs):
    given = yaml.safe_load(theirs.read_text())["kafka"]
    brokers = Brokers(tuple(given.pop("bootstrap")), Security(**given))
    assert os.environ["THEIR_PASSWORD"] == PASSWORD
    make_topic(brokers, "by-tls", 1)
    assert look(brokers, ["by-tls"])["by-tls"]["partitions"] == {"0": {"start": 0, "end": 0}}
    options = brokers.security.for_topics()
    cluster = Cluster.of(Target(brokers.bootstrap, "by-tls", {}, (), options=options))
    producer = cluster.bulk("by-tls")
    producer.produce("by-tls", b"a row")
    assert producer.flush(20) == 0
    with closing(cluster.consumer("read_committed")) as consumer:
        assert consumer.partitions_for_topic("by-tls") == {0}
    assert [one.value for one in read_back(brokers, "by-tls")] == [b"a row"]


def test_doctor_checks_a_scenario_on_it(theirs, tmp_path):
    file = written(tmp_path, "copy_events__upsert_table__calm")
    code, found = document("doctor", "doctor", file, "--home", f"external:{theirs}")
    checks = {one["name"]: one for one in found["checks"]}
    assert code == 0, [one for one in found["checks"] if not one["ok"]]
    assert checks["topics"]["value"] == "a topic was created, written, read (1) and deleted"
    assert checks["database"]["value"] == "onceproof on postgres"
    file = written(tmp_path, "copy_events__upsert_table__pause", faults=[pause("store")])
    code, found = document("doctor", "doctor", file, "--home", f"external:{theirs}")
    wrong = [one for one in found["checks"] if not one["ok"]]
    assert (code, [one["name"] for one in wrong]) == (3, ["faults"])
    assert "cannot pause store" in wrong[0]["value"]


def pause(target):
    return {"do": "pause", "target": target, "when": {"batch": 1}}
