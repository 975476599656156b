"""The brokers of a target, the clients that connect to them, and creating and removing topics.

Options of a sink that begin with `kafka.` are settings of its clients, by librdkafka's names.
Connection settings (TLS, SASL) are translated for every client library of a target; `${NAME}` in a
value is replaced by the environment variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from onceproof.errors import RequestError, invalid
from onceproof.kafka.admin import ANSWERS_WITHIN_S, ask_patiently
from onceproof.kafka.security import java_login
from onceproof.sinks import Target
from onceproof.variables import resolve

T = TypeVar("T")
SOCKET_MS = 4000  # the time that a request to a paused broker takes
_CONNECTED_WITHIN_S = 1.0
_HEAD = "kafka."
# kafka-python's names of settings, by librdkafka's names.
_SECURITY = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}
_JAVA = {"ssl.ca.location": "ssl.truststore.location", "sasl.mechanisms": "sasl.mechanism"}
_HOSTNAMES = "ssl.endpoint.identification.algorithm"
_REPLICAS, _IN_SYNC = 3, 2
PARTITIONS = 4  # the default number of a topic's partitions


@dataclass(frozen=True)
class Cluster:
    """The brokers' addresses, and settings of clients by librdkafka's names."""

    addresses: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, target: Target) -> Cluster:
        """Return the cluster of a target, whose address is a comma-separated list, or raise."""
        addresses = tuple(one.strip() for one in target.address.split(",") if one.strip())
        if not addresses or not all(one.rpartition(":")[2].isdigit() for one in addresses):
            raise RequestError(invalid("Kafka address", target.address, "host:port,host:port"))
        given = target.options.items()
        return cls(
            addresses,
            {
                name.removeprefix(_HEAD): resolve(str(value))
                for name, value in given
                if name.startswith(_HEAD)
            },
        )

    def for_kafka_python(self) -> dict[str, Any]:
        """Return the settings of every kafka-python client."""
        settings: dict[str, Any] = {
            ours: self.settings[name] for name, ours in _SECURITY.items() if name in self.settings
        }
        settings["bootstrap_servers"] = list(self.addresses)
        if self.settings.get(_HOSTNAMES) == "none":
            settings["ssl_check_hostname"] = False
        return settings

    @property
    def java_settings(self) -> dict[str, str]:
        """The settings by the names of Java's clients, which differ for connections."""
        java = {_JAVA.get(name, name): value for name, value in self.settings.items()}
        user, password = java.pop("sasl.username", None), java.pop("sasl.password", "")
        if user is not None:
            java["sasl.jaas.config"] = java_login(java.get("sasl.mechanism", ""), user, password)
        if "ssl.truststore.location" in java:
            java["ssl.truststore.type"] = "PEM"
        if java.get(_HOSTNAMES) == "none":
            java[_HOSTNAMES] = ""
        return java

    def ask(self, question: Callable[[Any], T], limit_s: float = ANSWERS_WITHIN_S) -> T:
        """Call `question` with a new admin client; retry while brokers are unavailable."""
        return ask_patiently(self, question, limit_s)

    def consumer(self, isolation: str) -> Any:
        """Return a consumer without a group; it raises if it seeks an offset that is gone."""
        from kafka import KafkaConsumer

        return KafkaConsumer(
            isolation_level=isolation,
            enable_auto_commit=False,
            auto_offset_reset="none",
            max_poll_records=5000,
            request_timeout_ms=SOCKET_MS,
            bootstrap_timeout_ms=10_000,
            fetch_max_wait_ms=50,
            retry_backoff_ms=50,
            reconnect_backoff_max_ms=500,
            metadata_max_age_ms=5000,
            metrics_enabled=False,
            **self.for_kafka_python(),
        )

    def producer(self, patience_s: float) -> Any:
        """Return a producer for single records, acknowledged by all replicas."""
        from kafka import KafkaProducer

        return KafkaProducer(
            acks="all",
            enable_idempotence=True,
            linger_ms=0,
            request_timeout_ms=SOCKET_MS,
            delivery_timeout_ms=int(patience_s * 1000),
            max_block_ms=int(patience_s * 1000),
            bootstrap_timeout_ms=10_000,
            retry_backoff_ms=50,
            reconnect_backoff_max_ms=500,
            metadata_max_age_ms=5000,
            metrics_enabled=False,
            **self.for_kafka_python(),
        )

    def bulk(self, topic: str, **more: Any) -> Any:
        """Return a producer for many records; this cluster's settings override `more`.

        It is connected to a broker if one answers: an unconnected client asks for its producer id
        only every 500 ms. The topic's metadata is requested twice, since the first answer arrives
        over a bootstrap connection that the client then replaces by one to the numbered broker.
        """
        from confluent_kafka import KafkaException, Producer

        producer = Producer(
            {
                "bootstrap.servers": ",".join(self.addresses),
                "acks": "all",
                "enable.idempotence": True,
                "partitioner": "murmur2_random",  # as in Java's clients
                "linger.ms": 20,
                "batch.size": 256 * 1024,
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 256 * 1024,
                "delivery.report.only.error": True,
                "socket.timeout.ms": SOCKET_MS,
                "request.timeout.ms": SOCKET_MS,
                "retry.backoff.ms": 50,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 500,
                **more,
                **self.settings,
            }
        )
        with suppress(KafkaException):  # an unavailable broker may be back when it is needed
            for _ in range(2):
                producer.list_topics(topic, _CONNECTED_WITHIN_S)
        return producer


def described(client: Any, topic: str) -> dict[str, Any]:
    """Return the brokers' description of a topic; raises a retriable error if it is unknown."""
    from kafka.errors import for_code

    (found,) = client.describe_topics([topic])
    if found["error_code"]:
        raise for_code(found["error_code"])(topic)
    description: dict[str, Any] = found
    return description


def make_target(client: Any, target: Target) -> None:
    """Create a target without retention limits; an existing topic is not changed.

    The option `partitions` is the number of its partitions.
    """
    partitions = int(target.options.get("partitions", PARTITIONS))
    make_kept(client, target.name, partitions)


def make_kept(client: Any, topic: str, partitions: int) -> None:
    """Create a topic whose records never expire, and that survives the loss of one broker."""
    from kafka.admin import NewTopic
    from kafka.errors import TopicAlreadyExistsError

    replicas = min(_REPLICAS, len(client.describe_cluster()["brokers"]))
    kept: Mapping[str, str] = {
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "cleanup.policy": "delete",
        "min.insync.replicas": str(min(_IN_SYNC, replicas)),
    }
    with suppress(TopicAlreadyExistsError):
        client.create_topics([NewTopic(topic, partitions, replicas, topic_configs=kept)])
    client.wait_for_topics([topic])


def drop(cluster: Cluster, *topics: str) -> None:
    """Remove topics; those that do not exist are ignored."""
    from kafka.errors import UnknownTopicOrPartitionError

    def remove(client: Any) -> None:
        for topic in topics:
            with suppress(UnknownTopicOrPartitionError):
                client.delete_topics([topic])

    cluster.ask(remove)


def partitions_of(client: Any, topic: str) -> int:
    """Return the number of a topic's partitions."""
    return len(described(client, topic)["partitions"])


def is_there(cluster: Cluster, topic: str) -> bool:
    """Whether a topic exists."""
    found: bool = cluster.ask(lambda client: topic in client.list_topics())
    return found
