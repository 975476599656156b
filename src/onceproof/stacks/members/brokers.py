"""Kafka in KRaft mode: members that are both broker and controller.

Each has three listeners, for clients, other brokers and controllers, so that a proxy can be put
before each.

Storage is formatted without a JVM: `meta.properties` has four lines, and `bootstrap.checkpoint`,
which contains the feature levels (without it there is no transaction version 2), is a copy of the
file that Kafka's own tool wrote once for this version.
"""

from __future__ import annotations

import base64
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from onceproof.kafka.admin import admin
from onceproof.kafka.security import PLAIN, Brokers, Reachable
from onceproof.machine.identity import Identity
from onceproof.setup.java import QUICK, TIDY, in_folder
from onceproof.stacks import VERBS
from onceproof.stacks.state import LOOPBACK, Launch, State
from onceproof.stacks.tools import KafkaTools

T = TypeVar("T")
LISTENERS = ("client", "broker", "controller")
OUTSIDE = "outside"  # a fourth listener, for clients outside the brokers' own network
# A voter's last caught-up time is older than this only if it does not follow the leader.
_FOLLOWS_WITHIN_MS = 3000
_LOOKS = 6
_HEAP = ("-Xms64m", "-Xmx256m", "-Xss512k", "-XX:MaxDirectMemorySize=128m")
_LOG4J = """<Configuration status="ERROR"><Appenders><Console name="out">
<PatternLayout pattern="%d{ISO8601} %p %c{1} %m%n"/></Console></Appenders><Loggers>
<Logger name="kafka.server.KafkaConfig" level="WARN"/>
<Logger name="org.apache.kafka.common.config" level="WARN"/>
<Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>"""
# Small, quick to detect a dead broker, and with transactions that in practice never expire: a
# prepared transaction must outlive any outage that a scenario plans.
_SETTINGS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "BROKER",
    "listener.security.protocol.map": ",".join(
        f"{name.upper()}:PLAINTEXT" for name in (*LISTENERS, OUTSIDE)
    ),
    "num.partitions": 4,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.num.partitions": 1,
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "controller.quorum.election.timeout.ms": 500,
    "controller.quorum.election.backoff.max.ms": 200,
    "controller.quorum.fetch.timeout.ms": 1000,
    "replica.lag.time.max.ms": 3000,
    # A dead container does not refuse connections; packets to it just get lost.
    "socket.connection.setup.timeout.ms": 1000,
    "socket.connection.setup.timeout.max.ms": 2000,
    "replica.fetch.backoff.ms": 200,
    "transaction.max.timeout.ms": 2147483647,
    "transactional.id.expiration.ms": 3600000,  # our ids are never reused
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    "num.network.threads": 2,
    "num.io.threads": 2,
    "background.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
    "log.cleaner.dedupe.buffer.size": 2097152,
}


@dataclass(frozen=True)
class Broker:
    """A broker of the stack."""

    state: State
    number: int

    kind = "broker"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def name(self) -> str:
        """`broker:N`, where N is Kafka's node id."""
        return f"broker:{self.number}"

    @property
    def address(self) -> str:
        """The address for its clients."""
        return f"{self.state.host(self.name)}:{self.state.door(f'{self.name}/client')}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        host = self.state.host(self.name)
        return [(host, self.state.ports[f"{self.name}/{kind}"]) for kind in LISTENERS]

    def needs(self, running: Collection[str]) -> str:
        """Return that a majority of brokers is missing; empty if enough are running."""
        alive = sum(name.startswith("broker:") for name in {*running, self.name})
        return "" if alive > self.state.brokers // 2 else "a majority of the brokers"

    def remove_leftovers(self) -> None:
        """Do nothing: no leftovers prevent a start."""

    def family(self, main: Identity | None) -> list[Identity]:
        """Return its processes: one JVM."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Return why it is not healthy; empty if it serves clients and is in the quorum."""
        from kafka.errors import KafkaError

        try:
            socket.create_connection(self.listens_on[0], timeout=1).close()
            return ask(Brokers((self.address,), PLAIN), self._trouble)
        except OSError as error:
            return f"does not respond at {self.address}: {error}"
        except KafkaError as error:
            return f"does not serve clients: {type(error).__name__}: {error}"

    def _trouble(self, client: Any) -> str:
        cluster = client.describe_cluster()
        if cluster["cluster_id"] != self.state.cluster_id:
            return f"belongs to another cluster: {cluster['cluster_id']}"
        if self.number not in [broker["broker_id"] for broker in cluster["brokers"]]:
            return "is not registered with the controller"
        quorum = metadata_quorum(client)
        voters = {voter["replica_id"]: voter for voter in quorum["current_voters"]}
        if quorum["leader_id"] < 0 or self.number not in voters:
            return "is not in the quorum"
        behind_ms = time.time() * 1000 - voters[self.number]["last_caught_up_timestamp"]
        is_behind = self.number != quorum["leader_id"] and behind_ms > _FOLLOWS_WITHIN_MS
        return f"is {behind_ms:.0f} ms behind the controller" if is_behind else ""


def ask(brokers: Reachable, question: Callable[[Any], T]) -> T:
    """Return the result of a query with a new admin client.

    A client sends a query to any broker of the cluster, for seconds even to a dead one. So a query
    without a response is repeated.
    """
    from kafka.errors import KafkaConnectionError, KafkaTimeoutError

    for look in range(_LOOKS):
        try:
            with closing(admin(brokers)) as client:
                return question(client)
        except (KafkaConnectionError, KafkaTimeoutError):
            if look == _LOOKS - 1:
                raise
    raise AssertionError(_LOOKS)


def metadata_quorum(client: Any) -> dict[str, Any]:
    """Return the controllers' quorum: `leader_id`, `leader_epoch`, `current_voters`."""
    answer: dict[str, Any] = client.describe_metadata_quorum()["topics"][0]["partitions"][0]
    return answer


def launch(state: State, number: int, tools: KafkaTools, *options: str) -> Launch:
    """Write a broker's files and return its start command; `options` go to its JVM."""
    place = state.place(f"broker:{number}")
    (place / "tmp").mkdir(parents=True, exist_ok=True)
    (place / "log4j2.xml").write_text(_LOG4J)
    settings = _settings(state, number, place) | _SETTINGS
    (place / "server.properties").write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
    format_storage(state.cluster_id, number, place / "data", tools.bootstrap)
    argv = [*java(tools, place, *options), "kafka.Kafka", place / "server.properties"]
    return Launch([str(part) for part in argv], {}, str(place))


def java(tools: KafkaTools, place: Path, *options: str) -> list[str | Path]:
    """Return the command of a Kafka JVM up to its main class."""
    archive = [f"-XX:SharedArchiveFile={tools.archive}"] if tools.archive else []
    return [
        *(tools.java, *_HEAP, *TIDY, *(QUICK if tools.is_quick else ()), *archive, *options),
        *(in_folder(place / "tmp"), f"-Dlog4j2.configurationFile={place}/log4j2.xml"),
        *("-cp", ":".join(map(str, tools.class_path))),
    ]


def _settings(state: State, number: int, place: Path) -> dict[str, str | int]:
    copies = min(3, state.brokers)
    quorum = min(2, state.brokers)
    names = [f"broker:{i}" for i in range(1, state.brokers + 1)]
    voters = (
        f"{i}@{state.host(name)}:{state.door(f'{name}/controller')}"
        for i, name in enumerate(names, 1)
    )
    name = f"broker:{number}"
    return {
        "node.id": number,
        "controller.quorum.voters": ",".join(voters),
        "listeners": _listeners(state, name, state.host(name), state.ports.__getitem__),
        "advertised.listeners": _listeners(state, name, LOOPBACK, state.door),
        "log.dirs": str(place / "data"),
        "default.replication.factor": copies,
        "min.insync.replicas": quorum,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": quorum,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": quorum,
    }


def _listeners(state: State, name: str, outside: str, port: Callable[[str], int]) -> str:
    hosts = dict.fromkeys(LISTENERS, state.host(name)) | {OUTSIDE: outside}
    return ",".join(
        f"{kind.upper()}://{host}:{port(f'{name}/{kind}')}"
        for kind, host in hosts.items()
        if f"{name}/{kind}" in state.ports
    )


def format_storage(cluster_id: str, number: int, data: Path, bootstrap: Path) -> None:
    """Format a data folder as `StorageTool format` does, unless it is formatted."""
    if (data / "meta.properties").exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(bootstrap, data / "bootstrap.checkpoint")
    lines = f"version=1\ncluster.id={cluster_id}\nnode.id={number}\ndirectory.id={new_id()}\n"
    (data / "meta.properties").write_text(lines)


def new_id() -> str:
    """Return a random id in Kafka's form: 22 characters, the first not a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
