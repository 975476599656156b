"""Security settings of Kafka clients, with secrets as names of environment variables.

`${NAME}` replaces a secret by the variable NAME: in addresses, in settings, and in files. It is
looked up only where a client is created.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from onceproof.variables import resolve

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# The environment variable with the settings of built-in jobs, as JSON without secrets.
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
# Characters that end a quoted word or start an escape in Java's parser.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True)
class Security:
    """Security settings of a Kafka client; except protocol and mechanism, `${NAME}` or empty.

    `ca`, `certificate` and `key` are paths of PEM files.
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
        """Return the settings without secrets, for files."""
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
        return {names[name]: resolve(text) for name, text in self.named().items()}

    def for_confluent(self) -> dict[str, str]:
        """Return the settings of confluent-kafka's clients."""
        return {_LIBRDKAFKA[name]: resolve(text) for name, text in self.named().items()}

    def for_topics(self) -> dict[str, str]:
        """Return the options of a sink of topics, without secrets."""
        named = self.named() if self != PLAIN else {}
        return {f"kafka.{_LIBRDKAFKA[name]}": text for name, text in named.items()}

    def for_spark(self) -> dict[str, str]:
        """Return the options of Spark's Kafka source and sink."""
        found = {"kafka.security.protocol": self.protocol}
        if self.mechanism:
            found["kafka.sasl.mechanism"] = self.mechanism
            login = java_login(self.mechanism, resolve(self.user), resolve(self.password))
            found["kafka.sasl.jaas.config"] = login
        if self.ca:
            found["kafka.ssl.truststore.type"] = "PEM"
            found["kafka.ssl.truststore.location"] = resolve(self.ca)
        if self.certificate:
            found["kafka.ssl.keystore.type"] = "PEM"
            chain, key = (Path(resolve(one)).read_text() for one in (self.certificate, self.key))
            found |= {"kafka.ssl.keystore.certificate.chain": chain, "kafka.ssl.keystore.key": key}
        if self.key_password:
            found["kafka.ssl.key.password"] = resolve(self.key_password)
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
    """Brokers with their addresses and the security settings of clients."""

    def for_kafka_python(self) -> dict[str, Any]:
        """Return the settings of every kafka-python client."""


@dataclass(frozen=True)
class Brokers:
    """The addresses of brokers and their security settings, which are always passed together."""

    addresses: tuple[str, ...]
    security: Security

    @property
    def bootstrap(self) -> str:
        """The addresses in one text, as `host:port,host:port`."""
        return ",".join(self.addresses)

    def for_kafka_python(self) -> dict[str, Any]:
        """Return the settings of every kafka-python client."""
        return {"bootstrap_servers": list(self.addresses), **self.security.for_kafka_python()}

    def for_confluent(self) -> dict[str, Any]:
        """Return the settings of every confluent-kafka client."""
        return {"bootstrap.servers": self.bootstrap, **self.security.for_confluent()}


def in_environment() -> Security:
    """Return the settings of a built-in job, from `ONCEPROOF_KAFKA_SECURITY`."""
    return Security(**json.loads(os.environ.get(VARIABLE) or "{}"))
