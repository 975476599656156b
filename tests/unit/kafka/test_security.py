"""Secrets are passed as names of environment variables; only clients get their values."""

import json
from collections.abc import Iterable

import pytest

from onceproof.errors import RequestError
from onceproof.kafka.security import (
    PLAIN,
    VARIABLE,
    Brokers,
    Security,
    in_environment,
)
from onceproof.sinks import Target
from onceproof.sinks.topics.cluster import Cluster
from onceproof.stacks.members.store import store_trouble
from onceproof.variables import conceal, names_in, resolve

SCRAM = Security("SASL_SSL", "SCRAM-SHA-512", "${THE_USER}", "${THE_PASSWORD}", ca="${THE_CA}")
BROKERS = Brokers(("one:9093", "two:9093"), SCRAM)


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    for name, value in (("USER", "ann"), ("PASSWORD", 'se"cr\\et'), ("CA", "/etc/ca.pem")):
        monkeypatch.setenv(f"THE_{name}", value)


def test_brokers_without_security_need_no_password():
    assert Brokers(("one:9092",), PLAIN).for_kafka_python() == {
        "bootstrap_servers": ["one:9092"],
        "security_protocol": "PLAINTEXT",
    }
    assert Brokers(("one:9092", "two:9092"), PLAIN).for_confluent() == {
        "bootstrap.servers": "one:9092,two:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert PLAIN.for_spark() == {}


def test_each_client_gets_the_settings_under_its_own_names():
    assert BROKERS.for_kafka_python() == {
        "bootstrap_servers": ["one:9093", "two:9093"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "ann",
        "sasl_plain_password": 'se"cr\\et',
        "ssl_cafile": "/etc/ca.pem",
    }
    assert BROKERS.for_confluent()["sasl.password"] == 'se"cr\\et'
    assert BROKERS.for_confluent()["ssl.ca.location"] == "/etc/ca.pem"


def test_a_built_in_job_gets_names_and_looks_up_the_secrets(monkeypatch):
    passed = json.dumps(SCRAM.named())
    assert "ann" not in passed
    assert "secr" not in passed
    monkeypatch.setenv(VARIABLE, passed)
    assert in_environment().for_spark() == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required"
            ' username="ann" password="se\\"cr\\\\et";'
        ),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/etc/ca.pem",
    }
    monkeypatch.delenv(VARIABLE)
    assert in_environment() == PLAIN


def test_a_certificate_of_the_clients_own_is_read_from_its_files(monkeypatch, tmp_path):
    for name in ("CERT", "KEY"):
        (tmp_path / name).write_text(f"the {name}")
        monkeypatch.setenv(f"THE_{name}", str(tmp_path / name))
    mutual = Security("SSL", ca="${THE_CA}", certificate="${THE_CERT}", key="${THE_KEY}")
    found = mutual.for_spark()
    assert found["kafka.ssl.keystore.certificate.chain"] == "the CERT"
    assert found["kafka.ssl.keystore.key"] == "the KEY"
    assert mutual.for_kafka_python()["ssl_keyfile"] == str(tmp_path / "KEY")


def test_a_password_within_an_address_is_quoted_as_addresses_need():
    assert resolve("postgresql://me:${THE_PASSWORD}@db/x") == "postgresql://me:se%22cr%5Cet@db/x"
    assert resolve("${THE_CA}") == "/etc/ca.pem"
    assert resolve("postgresql://me@db/x") == "postgresql://me@db/x"
    assert names_in("postgresql://${A}:${B}@db") == ["A", "B"]


def test_errors_of_libraries_have_names_instead_of_secrets(monkeypatch):
    monkeypatch.setenv("THE_ADDRESS", "no address but hunter2")
    assert store_trouble("${THE_ADDRESS}").startswith("answers no query")
    assert "hunter2" not in store_trouble("${THE_ADDRESS}")
    assert conceal("wrong: hunter2", "x ${UNSET} y") == "wrong: hunter2"


def test_a_missing_environment_variable_is_named():
    with pytest.raises(RequestError, match="UNSET_VARIABLE"):
        resolve("${UNSET_VARIABLE}")


def test_brokers_cannot_be_used_as_a_list_of_addresses():
    assert BROKERS.bootstrap == "one:9093,two:9093"
    assert not isinstance(BROKERS, Iterable)


def test_a_topic_sink_gets_names_and_looks_up_the_secrets_for_its_clients():
    options = SCRAM.for_topics()
    assert options["kafka.sasl.password"] == "${THE_PASSWORD}"
    found = Cluster.of(Target("one:9093", "topic", {}, (), options=options))
    assert found.for_kafka_python() == Brokers(("one:9093",), SCRAM).for_kafka_python()
    assert found.java_settings["ssl.truststore.location"] == "/etc/ca.pem"
    assert PLAIN.for_topics() == {}


@pytest.mark.parametrize(
    ("password", "quoted"),
    [
        ('a"b\\c', '"a\\"b\\\\c"'),
        ('x" serviceName="evil', '"x\\" serviceName=\\"evil"'),
        ("x\ny\r", '"x\\ny\\r"'),  # Java ends a quoted word at the end of the line
    ],
)
def test_a_password_stays_one_word_of_the_login(monkeypatch, password, quoted):
    monkeypatch.setenv("THE_PASSWORD", password)
    target = Target("one:9093", "topic", {}, (), options=SCRAM.for_topics())
    login = Cluster.of(target).java_settings["sasl.jaas.config"]
    assert login == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        f' username="ann" password={quoted};'
    )
    assert SCRAM.for_spark()["kafka.sasl.jaas.config"] == login
