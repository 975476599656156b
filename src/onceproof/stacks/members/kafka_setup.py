"""What brokers start from, made once for a machine and version: Kafka's format, a Java archive."""

from __future__ import annotations

import logging
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from onceproof.errors import StackError
from onceproof.kafka.admin import admin
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.setup.archives import archive_path, check_archive, ensure_archive
from onceproof.setup.checks import Check
from onceproof.setup.jars import ensure_jars, read_lock
from onceproof.setup.java import find_java
from onceproof.setup.making import Environment, ensure
from onceproof.stacks.local.ports import free_ports
from onceproof.stacks.members import broker_launch, brokers
from onceproof.stacks.state import State
from onceproof.stacks.tools import KafkaTools, run_tool

log = logging.getLogger(__name__)


def kafka_tools(home: Path, *, is_quick: bool = True) -> KafkaTools:
    """Return what brokers are started from, making what is not there yet."""
    java = find_java()
    class_path = tuple(ensure_jars(home, ["brokers"])["brokers"])
    (kafka,) = (jar for jar in class_path if jar.name.startswith("kafka_2.13-"))
    bootstrap = home / "kafka" / f"{kafka.stem}.checkpoint"
    bare = KafkaTools(java.program, class_path, bootstrap, None, is_quick=True)
    ensure(home, bootstrap, lambda part, mark: _make_bootstrap(bare, part, mark))
    archive = archive_path(home, "broker", java, class_path)
    ensure_archive(home, archive, lambda part, mark: _dump(bare, part / archive.name, mark))
    return replace(bare, archive=archive, is_quick=is_quick)


def check_broker_archive(home: Path) -> Check:
    """Say whether a JVM takes the archive of the brokers."""
    java = find_java()
    jars = [jar.path(home) for jar in read_lock() if jar.set == "brokers"]
    archive = archive_path(home, "broker", java, jars)
    return check_archive("brokers", java, archive, ":".join(map(str, jars)))


def _make_bootstrap(tools: KafkaTools, place: Path, mark: Environment) -> None:
    """Have Kafka's own tool format a folder, and keep the file with the feature levels."""
    lines = (
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9\n"
        "listeners=PLAIN://127.0.0.1:8,CONTROLLER://127.0.0.1:9\n"
        "listener.security.protocol.map=PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        "inter.broker.listener.name=PLAIN\ncontroller.listener.names=CONTROLLER\n"
    )
    (place / "format.properties").write_text(f"{lines}log.dirs={place}/data\n")
    command = [*broker_launch.java(tools, place), "kafka.tools.StorageTool", "format"]
    command += ["--cluster-id", broker_launch.new_id(), "--config", place / "format.properties"]
    run_tool(command, mark, "Kafka's StorageTool")
    (place / "data/bootstrap.checkpoint").rename(place / tools.bootstrap.name)


def _dump(tools: KafkaTools, archive: Path, mark: Environment) -> None:
    """Run one broker, make it load what a broker needs, and have its JVM write the archive."""
    from kafka.errors import KafkaError

    log.info("making the Java archive of the brokers, once for this machine: some 10 s")
    ports = free_ports(f"broker:1/{kind}" for kind in brokers.LISTENERS)
    cluster_id = broker_launch.new_id()
    state = State.new(archive.parent, cluster_id=cluster_id, brokers=1, workers=0, ports=ports)
    launch = broker_launch.launch(state, 1, tools, f"-XX:ArchiveClassesAtExit={archive}")
    output = archive.parent / "output"
    process = spawn(launch.argv, log=output, env=mark, cwd=Path(launch.cwd))
    try:
        broker = brokers.Broker(state, 1)
        wait_for(lambda: not broker.trouble(), 60, "the first broker does not serve")
        _exercise(broker.address)
        process.send(signal.SIGTERM)
        wait_for(lambda: not process.is_alive, 60, "the first broker does not end")
    except (StackError, KafkaError) as error:
        raise StackError(f"{error}; it said: {output.read_text()[-1000:]}") from error
    finally:
        process.send(signal.SIGKILL)
    if not archive.exists():
        raise StackError(f"the broker's JVM wrote no archive: {output.read_text()[-1000:]}")


def _exercise(address: str) -> None:
    """Use what every run uses: a topic, a transaction, a consumer group."""
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import NewTopic

    with closing(admin(Brokers((address,), PLAIN))) as client:
        client.create_topics([NewTopic("warm", 2, 1)])
        client.wait_for_topics(["warm"])
    producer = KafkaProducer(bootstrap_servers=address, acks="all", transactional_id="warm")
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.send("warm", b"record").get(timeout=30)
        end()
    producer.close()
    consumer = KafkaConsumer(
        "warm",
        bootstrap_servers=address,
        group_id="warm",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    wait_for(lambda: consumer.poll(timeout_ms=500), 30, "the record was not read back")
    consumer.commit()
    consumer.close()
