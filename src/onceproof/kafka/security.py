"""How clients are let in by Kafka and by databases: secrets by the names of environment variables.

`${NAME}` stands for the variable NAME wherever a secret would stand: in addresses, in settings, in
what is written down. It is looked up where a client is made, and nowhere else.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from onceproof.variables import revealed

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# The names of a Security go to our own jobs in this variable, as JSON.
VARIABLE = "ONCEPROOF_KAFKA_SECURITY"
_LIBRDKAFKA = {
    "protocol": "security.protocol",
    "mechanism": "sasl.mechanism",
    "user": "sasl.username",
    "password": "sasl.password",
    "ca": "ssl.ca.location",
    "certificate": "ssl.certificate.location",
    "key": "ssl.key.location",
    "key_password": "ssl.key.password",
}
# What Java's parser takes for the end of a quoted word, or for the start of an escape.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True)
class Security:
    """What a client of Kafka is let in by; all but protocol and mechanism are `${NAME}` or empty.

    `ca`, `certificate` and `key` lead to files in PEM.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    user: str = ""
    password: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""
    key_password: str = ""

    def named(self) -> dict[str, str]:
        """Return it as it may be written down."""
        return {name: text for name, text in asdict(self).items() if text}

    def for_kafka_python(self) -> dict[str, Any]:
        """Return the settings of kafka-python's clients."""
        names = {
            "protocol": "security_protocol",
            "mechanism": "sasl_mechanism",
            "user": "sasl_plain_username",
            "password": "sasl_plain_password",
            "ca": "ssl_cafile",
            "certificate": "ssl_certfile",
            "key": "ssl_keyfile",
            "key_password": "ssl_password",
        }
        return {names[name]: revealed(text) for name, text in self.named().items()}

    def for_confluent(self) -> dict[str, str]:
        """Return the settings of confluent-kafka's clients."""
        return {_LIBRDKAFKA[name]: revealed(text) for name, text in self.named().items()}

    def for_topics(self) -> dict[str, str]:
        """Return the options of a sink that writes to a topic there; secrets by their names."""
        told = self.named() if self != PLAIN else {}
        return {f"kafka.{_LIBRDKAFKA[name]}": text for name, text in told.items()}

    def for_spark(self) -> dict[str, str]:
        """Return the options of Spark's Kafka source and sink."""
        found = {"kafka.security.protocol": self.protocol}
        if self.mechanism:
            found["kafka.sasl.mechanism"] = self.mechanism
            login = java_login(self.mechanism, revealed(self.user), revealed(self.password))
            found["kafka.sasl.jaas.config"] = login
        if self.ca:
            found["kafka.ssl.truststore.type"] = "PEM"
            found["kafka.ssl.truststore.location"] = revealed(self.ca)
        if self.certificate:
            found["kafka.ssl.keystore.type"] = "PEM"
            chain, key = (Path(revealed(one)).read_text() for one in (self.certificate, self.key))
            found |= {"kafka.ssl.keystore.certificate.chain": chain, "kafka.ssl.keystore.key": key}
        if self.key_password:
            found["kafka.ssl.key.password"] = revealed(self.key_password)
        return found if self != PLAIN else {}


PLAIN = Security()


def java_login(mechanism: str, user: str, password: str) -> str:
    """Return `sasl.jaas.config` of Java's clients; each value stays one quoted word."""
    kind = "scram.Scram" if "SCRAM" in mechanism else "plain.Plain"
    user, password = (one.translate(_ESCAPES) for one in (user, password))
    return (
        f"org.apache.kafka.common.security.{kind}LoginModule required"
        f' username="{user}" password="{password}";'
    )


class Reachable(Protocol):
    """Brokers that one can make a client of: where they are, and by what they let it in."""

    def for_kafka_python(self) -> dict[str, Any]:
        """Return what every client of kafka-python is made with."""


@dataclass(frozen=True)
class Brokers:
    """The addresses of brokers, and by what they let clients in: never one without the other."""

    addresses: tuple[str, ...]
    security: Security

    @property
    def bootstrap(self) -> str:
        """The addresses in one text, as `host:port,host:port`."""
        return ",".join(self.addresses)

    def for_kafka_python(self) -> dict[str, Any]:
        """Return what every client of kafka-python is made with."""
        return {"bootstrap_servers": list(self.addresses), **self.security.for_kafka_python()}

    def for_confluent(self) -> dict[str, Any]:
        """Return what every client of confluent-kafka is made with."""
        return {"bootstrap.servers": self.bootstrap, **self.security.for_confluent()}


def in_environment() -> Security:
    """Return what a job of ours is let in by, from `ONCEPROOF_KAFKA_SECURITY`."""
    return Security(**json.loads(os.environ.get(VARIABLE) or "{}"))
