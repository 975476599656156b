"""The brokers of a target, the clients that connect to them, and topics made and removed.

Options of a sink that begin with `kafka.` are settings of its clients, by librdkafka's names. Those
that say how one connects (TLS, SASL) go to every client of a target, in each one's own words;
`${NAME}` in one of them is looked up in the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from onceproof.errors import RequestError
from onceproof.kafka.admin import ANSWERS_WITHIN_S, ask_patiently
from onceproof.kafka.security import java_login
from onceproof.sinks import Target
from onceproof.variables import revealed

T = TypeVar("T")
SOCKET_MS = 4000  # a broker that is paused holds a request for so long
_CONNECTED_WITHIN_S = 1.0
_HEAD = "kafka."
# librdkafka's name of a setting, and kafka-python's.
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
PARTITIONS = 4  # of a topic, where no option says another number


@dataclass(frozen=True)
class Cluster:
    """The brokers by their addresses, and settings of clients by librdkafka's names."""

    addresses: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, target: Target) -> Cluster:
        """Return a target's, whose address is a list with commas, or raise for what is none."""
        addresses = tuple(one.strip() for one in target.address.split(",") if one.strip())
        if not addresses or not all(one.rpartition(":")[2].isdigit() for one in addresses):
            raise RequestError(
                f"address {target.address!r} is none of Kafka's: write host:port,host:port"
            )
        given = target.options.items()
        return cls(
            addresses,
            {
                name.removeprefix(_HEAD): revealed(str(value))
                for name, value in given
                if name.startswith(_HEAD)
            },
        )

    def for_kafka_python(self) -> dict[str, Any]:
        """Return what every client of kafka-python is made with."""
        told: dict[str, Any] = {
            ours: self.settings[name] for name, ours in _SECURITY.items() if name in self.settings
        }
        told["bootstrap_servers"] = list(self.addresses)
        if self.settings.get(_HOSTNAMES) == "none":
            told["ssl_check_hostname"] = False
        return told

    @property
    def java_settings(self) -> dict[str, str]:
        """The settings in the words of Java's clients, which differ in how one connects."""
        told = {_JAVA.get(name, name): value for name, value in self.settings.items()}
        user, password = told.pop("sasl.username", None), told.pop("sasl.password", "")
        if user is not None:
            told["sasl.jaas.config"] = java_login(told.get("sasl.mechanism", ""), user, password)
        if "ssl.truststore.location" in told:
            told["ssl.truststore.type"] = "PEM"
        if told.get(_HOSTNAMES) == "none":
            told[_HOSTNAMES] = ""
        return told

    def ask(self, question: Callable[[Any], T], limit_s: float = ANSWERS_WITHIN_S) -> T:
        """Put a question to a new admin client, again and again while brokers come and go."""
        return ask_patiently(self, question, limit_s)

    def consumer(self, isolation: str) -> Any:
        """Return a consumer of no group; it raises where it is given an offset that is gone."""
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
        """Return a producer for single records, each at all replicas before it is told."""
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
        """Return a producer for many records; what was set for this cluster comes last.

        It is connected to a broker, if one answers: a client with no connection at hand looks for
        one that gives it its id every 500 ms. It is asked twice where the topic is, as the first
        answer comes over a connection that is then dropped for one by the broker's number.
        """
        from confluent_kafka import KafkaException, Producer

        producer = Producer(
            {
                "bootstrap.servers": ",".join(self.addresses),
                "acks": "all",
                "enable.idempotence": True,
                "partitioner": "murmur2_random",  # where Java's clients would put a key
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
        with suppress(KafkaException):  # who is away now may be back while it waits
            for _ in range(2):
                producer.list_topics(topic, _CONNECTED_WITHIN_S)
        return producer


def described(client: Any, topic: str) -> dict[str, Any]:
    """Return what brokers say of a topic; one that has not heard of it yet is asked again."""
    from kafka.errors import for_code

    (found,) = client.describe_topics([topic])
    if found["error_code"]:
        raise for_code(found["error_code"])(topic)
    told: dict[str, Any] = found
    return told


def make_target(client: Any, target: Target) -> None:
    """Make a target that keeps its records for ever; one that is there stays as it is.

    The option `partitions` says how many it gets.
    """
    partitions = int(target.options.get("partitions", PARTITIONS))
    make_kept(client, target.name, partitions)


def make_kept(client: Any, topic: str, partitions: int) -> None:
    """Make a topic of which nothing expires, and which loses nothing with one broker."""
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
    """Remove topics; one that is not there is gone already."""
    from kafka.errors import UnknownTopicOrPartitionError

    def remove(client: Any) -> None:
        for topic in topics:
            with suppress(UnknownTopicOrPartitionError):
                client.delete_topics([topic])

    cluster.ask(remove)


def partitions_of(client: Any, topic: str) -> int:
    """Return how many partitions a topic has."""
    return len(described(client, topic)["partitions"])


def is_there(cluster: Cluster, topic: str) -> bool:
    """Whether a topic is there."""
    found: bool = cluster.ask(lambda client: topic in client.list_topics())
    return found
